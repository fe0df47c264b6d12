#!/bin/sh
# Makes Torchlet's AAR without Gradle, and puts it with its POM into a Maven repository:
#
#   scripts/build_aar.sh [--abi-dir DIR] [--classes JAR] [--output DIR]
#
# The libraries are built for Android's four ABIs by the NDK in $ANDROID_NDK_HOME (r26 or later); --abi-dir takes
# DIR/<abi>/libtorchlet_jni.so instead. The classes are compiled against Android's API level 21 as Robolectric keeps it on Maven
# Central ($ANDROID_JAR is another android.jar); --classes takes those of a jar instead, without the libraries in it.
# Exits with 77 if there is no NDK and no --abi-dir, or a tool that cannot be had.
set -eu
caller=$PWD
cd "$(dirname "$0")/.."
root=$PWD

usage() {
  echo "usage: build_aar.sh [--abi-dir DIR] [--classes JAR] [--output DIR]" >&2
  exit 2
}
absolute() { case $1 in /*) echo "$1" ;; *) echo "$caller/$1" ;; esac; }

libraries="" classes="" output=$root/build/aar
while [ $# -gt 0 ]; do
  [ $# -ge 2 ] || usage
  case $1 in
  --abi-dir) libraries=$(absolute "$2") ;;
  --classes) classes=$(absolute "$2") ;;
  --output) output=$(absolute "$2") ;;
  *) usage ;;
  esac
  shift 2
done

abis="arm64-v8a armeabi-v7a x86 x86_64"
version=$(sed -n 's/^ *VERSION \([0-9.]*\)$/\1/p' CMakeLists.txt | head -1)
work=$output/work
rm -rf "$work"
mkdir -p "$work/aar/META-INF/com/android/build/gradle" "$work/classes"

build_libraries() {
  if [ -z "${ANDROID_NDK_HOME:-}" ] || [ ! -e "$ANDROID_NDK_HOME/build/cmake/android.toolchain.cmake" ]; then
    echo "build_aar: no NDK: install r26 or later and set ANDROID_NDK_HOME to it, or give --abi-dir" >&2
    exit 77
  fi
  scripts/install_deps.sh && scripts/debian_files.sh highway && scripts/debian_files.sh headers || exit 77
  libraries=$work/libraries
  strip=$(ls "$ANDROID_NDK_HOME"/toolchains/llvm/prebuilt/*/bin/llvm-strip | head -1)
  for abi in $abis; do
    cmake --preset "android-$abi" --log-level=WARNING >/dev/null
    cmake --build --preset "android-$abi" --parallel "${JOBS:-$(nproc)}" --target torchlet_jni
    mkdir -p "$libraries/$abi"
    "$strip" --strip-all -o "$libraries/$abi/libtorchlet_jni.so" \
      "$(find "build/android-$abi" -name libtorchlet_jni.so | head -1)"
  done
}

# Android's classes of API level 21, to compile against.
android_jar() {
  if [ -n "${ANDROID_JAR:-}" ]; then
    echo "$ANDROID_JAR"
    return
  fi
  name=android-all-instrumented release=5.0.2_r3-robolectric-r0-i4
  jar=${HOME}/.m2/repository/org/robolectric/$name/$release/$name-$release.jar
  if [ ! -e "$jar" ]; then
    scripts/install_deps.sh maven >&2 &&
      mvn -q -B dependency:get -Dtransitive=false -Dartifact="org.robolectric:$name:$release" >&2 || return 1
  fi
  echo "$jar"
}

compile_classes() {
  android=$(android_jar) || {
    echo "build_aar: Android's classes cannot be had from Maven Central: set ANDROID_JAR to an android.jar" >&2
    exit 77
  }
  find bindings/java/torchlet/src/main/java -name '*.java' >"$work/sources"
  javac --release 8 -encoding UTF-8 -Xlint:-options -nowarn -classpath "$android" -d "$work/classes" @"$work/sources"
}

# Entries in one order with one time: the same input gives the same bytes.
archive() {
  (cd "$2" && find . -type f | sed 's|^\./||' | LC_ALL=C sort >"$work/entries" &&
    jar --create --no-manifest --date=1980-01-01T00:00:02Z --file "$1" @"$work/entries")
}

[ -n "$libraries" ] || build_libraries
scripts/install_deps.sh default-jdk-headless || exit 77
for abi in $abis; do
  library=$libraries/$abi/libtorchlet_jni.so
  python3 scripts/check_elf.py --stripped --abi "$abi" "$library"
  mkdir -p "$work/aar/jni/$abi"
  cp "$library" "$work/aar/jni/$abi/"
done
if [ -n "$classes" ]; then
  (cd "$work/classes" && jar --extract --file "$classes" && find . -name '*.so' -delete && rm -rf META-INF/maven META-INF/MANIFEST.MF)
else
  compile_classes
fi
archive "$work/aar/classes.jar" "$work/classes"
cp bindings/android/AndroidManifest.xml bindings/android/proguard.txt "$work/aar/"
cp bindings/android/aar-metadata.properties "$work/aar/META-INF/com/android/build/gradle/"
: >"$work/aar/R.txt"

place=$output/maven/org/torchlet/torchlet-android/$version
mkdir -p "$place"
rm -f "$place/torchlet-android-$version.aar"
archive "$place/torchlet-android-$version.aar" "$work/aar"
sed "s/@VERSION@/$version/" bindings/android/pom.xml.in >"$place/torchlet-android-$version.pom"
rm -rf "$work"
echo "$place/torchlet-android-$version.aar: $(stat -c %s "$place/torchlet-android-$version.aar") bytes"
