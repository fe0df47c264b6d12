#!/bin/sh
# Builds and tests bindings/java on this machine's JVM, Android's classes being Robolectric's, and its Javadoc.
#
#   scripts/test_java.sh     exits with 77 if Maven, a JDK or what Maven Central has cannot be had
set -eu
cd "$(dirname "$0")/.."
scripts/install_deps.sh maven default-jdk-headless || exit 77
scripts/java_natives.sh
if ! mvn --batch-mode -q -f bindings/java dependency:resolve; then
  echo "test_java: Maven Central is out of reach" >&2
  exit 77
fi
mvn --batch-mode -f bindings/java install javadoc:javadoc -Dnatives.skip=true >build/java/maven.log 2>&1 ||
  { cat build/java/maven.log >&2 && exit 1; }
grep 'Tests run:.*Failures' build/java/maven.log | tail -1
