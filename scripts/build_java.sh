#!/bin/sh
# Builds the jar of bindings/java with its native libraries and puts it into the local Maven repository, where the examples find it:
#
#   scripts/build_java.sh [x86_64] [aarch64]    this machine's library by default; exits with 77 if Maven or a JDK cannot be had
set -eu
cd "$(dirname "$0")/.."
scripts/install_deps.sh maven default-jdk-headless || exit 77
scripts/java_natives.sh "$@"
mvn --batch-mode -q -f bindings/java install -DskipTests -Dnatives.skip=true
