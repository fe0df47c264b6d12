#!/bin/sh
# Builds and tests bindings/java on this machine's JVM, Android's classes being Robolectric's, and its Javadoc; then compares
# answers with the command's.
#
#   scripts/test_java.sh [aarch64]    with aarch64 also on Debian's JVM for 64-bit Arm, by QEMU
#
# Exits with 77 if Maven, a JDK, a compiler or what Maven Central has cannot be had.
set -eu
cd "$(dirname "$0")/.."
scripts/install_deps.sh maven default-jdk-headless python3 || exit 77
scripts/java_natives.sh
if ! mvn --batch-mode -q -f bindings/java dependency:resolve; then
  echo "test_java: Maven Central is out of reach" >&2
  exit 77
fi
reports=bindings/java/torchlet/target/surefire-reports
rm -rf "$reports"
mvn --batch-mode -f bindings/java install javadoc:javadoc -Dnatives.skip=true >build/java/maven.log 2>&1 ||
  { cat build/java/maven.log >&2 && exit 1; }
grep 'Tests run:.*Failures' build/java/maven.log | tail -1
# What -Xcheck:jni prints goes there.
if grep -h -A3 'in native method' "$reports"/*.dumpstream 2>/dev/null; then
  echo "test_java: native code calls JNI as it must not" >&2
  exit 1
fi

torchlet=${TORCHLET:-build/release/torchlet}
if [ ! -x "$torchlet" ]; then
  torchlet=build/static/torchlet
  cmake --build --preset static --parallel "${JOBS:-$(nproc)}" --target torchlet_cli >/dev/null
fi
python3 tests/java/answers_test.py "$torchlet"

if [ "${1:-}" = aarch64 ]; then
  scripts/install_deps.sh g++-aarch64-linux-gnu qemu-user-static && scripts/debian_files.sh jre arm64 || exit 77
  scripts/java_natives.sh aarch64
  # A folder of its own, because the jar that was tested holds this machine's library alone.
  jre=$PWD/build/debian/jre-arm64/usr
  java="qemu-aarch64-static -L /usr/aarch64-linux-gnu -E LD_LIBRARY_PATH=$jre/lib/aarch64-linux-gnu:$PWD/build/debian/jre-arm64/lib/aarch64-linux-gnu"
  java="$java $jre/lib/jvm/java-17-openjdk-arm64/bin/java -Xint -XX:+UseSerialGC"
  python3 tests/java/answers_test.py --java "$java" --natives "$PWD/build/java/natives" --close "$torchlet"
  target=bindings/java/torchlet/target
  jars=$(find "${HOME}/.m2/repository/junit/junit/4.13.2" "${HOME}/.m2/repository/org/hamcrest/hamcrest-core/1.3" -name '*.jar' | tr '\n' :)
  $java -Drepository="$PWD" -cp "build/java/natives:$target/classes:$target/test-classes:$jars" \
    org.junit.runner.JUnitCore org.torchlet.PictureTest >build/java/aarch64.log || { cat build/java/aarch64.log && exit 1; }
  grep '^OK' build/java/aarch64.log
fi
