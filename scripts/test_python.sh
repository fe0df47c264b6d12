#!/bin/sh
# Installs bindings/python into a new environment, build/python-venv, by pip, as its users do, and tests it there.
#
#   scripts/test_python.sh [PYTEST'S OPTIONS]     exits with 77 if a compiler, Python's headers or PyPI cannot be had
#   PYTHON=python3.12 scripts/test_python.sh      with another Python
set -eu
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
skip() {
  echo "test_python: $1" >&2
  exit 77
}

packages="dpkg-dev"
case "$(command -v "$python")" in
/usr/bin/*) packages="$packages python3-dev python3-venv" ;;
esac
scripts/install_deps.sh $packages || skip "a compiler or Python's headers are missing"
"$python" -c 'import os, sysconfig; assert os.path.exists(sysconfig.get_path("include") + "/Python.h")' 2>/dev/null ||
  skip "'$python' has no headers: install them (Debian: apt-get install python3-dev)"
scripts/debian_files.sh highway || skip "Debian's source of Highway is out of reach (apt-get source highway)"

venv=build/python-venv
rm -rf $venv
"$python" -m venv $venv || skip "'$python' makes no environments (Debian: apt-get install python3-venv)"
$venv/bin/pip -q --disable-pip-version-check download --no-deps -d $venv/reach nanobind >/dev/null 2>&1 || skip "PyPI is out of reach (pip download nanobind)"
$venv/bin/pip -q --disable-pip-version-check install "./bindings/python[test]" >build/python-pip.log 2>&1 ||
  { cat build/python-pip.log >&2 && exit 1; }
exec $venv/bin/pytest -q -p no:cacheprovider bindings/python/tests "$@"
