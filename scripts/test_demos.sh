#!/bin/sh
# The demo apps (examples/image_classification, examples/image_segmentation) in C++, Python and Java, and their Android apps on
# Robolectric's Android, next to PyTorch's answers.
#
#   scripts/test_demos.sh              exits with 77 if Maven, a JDK, aapt, PyPI or what Maven Central has cannot be had
#   scripts/test_demos.sh cpp python   these languages alone (cpp, python, java)
set -eu
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- cpp python java
skip() {
  echo "test_demos: $1" >&2
  exit 77
}

cpp() {
  cmake --preset release --log-level=WARNING ${CMAKE_ARGS:-} >/dev/null
  cmake --build --preset release --parallel "${JOBS:-$(nproc)}" --target image_classification image_segmentation
  ctest --test-dir build/release -R '^examples/image_demos$' --no-tests=error --output-on-failure
}

python() {
  venv=build/python-venv # as scripts/test_python.sh leaves it
  if ! $venv/bin/python -c 'import torchlet, PIL, pytest' 2>/dev/null; then
    scripts/install_deps.sh dpkg-dev python3-dev python3-venv && scripts/debian_files.sh highway ||
      skip "Debian's packages for the wheel are out of reach"
    rm -rf $venv && python3 -m venv $venv || skip "python3 makes no environments (apt-get install python3-venv)"
    mkdir -p build && $venv/bin/pip -q --disable-pip-version-check download --no-deps -d $venv/reach nanobind >/dev/null 2>&1 ||
      skip "PyPI is out of reach (pip download nanobind)"
    $venv/bin/pip -q --disable-pip-version-check install "./bindings/python[test]" pillow
  fi
  $venv/bin/python -m pytest -q -p no:cacheprovider tests/examples/python_demos_test.py
}

java() {
  scripts/install_deps.sh maven default-jdk-headless aapt || skip "apt-get install maven default-jdk-headless aapt"
  scripts/build_java.sh
  log=build/java/demos.log
  mvn --batch-mode -q -f examples dependency:resolve >$log 2>&1 || skip "Maven Central is out of reach ($log)"
  mvn --batch-mode -f examples test >$log 2>&1 || { cat $log >&2 && exit 1; }
  grep '^.INFO. Tests run:.*[0-9]$' $log
}

for language; do
  "$language"
done
