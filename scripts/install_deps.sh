#!/bin/sh
# Installs the Debian 12 packages that the build and the tests need; arguments name further packages.
# Asks dpkg first, so that a second run costs milliseconds and needs no network.
set -eu

packages="
  build-essential ccache cmake ninja-build pkg-config python3
  libhwy-dev
  zlib1g-dev
  nlohmann-json3-dev libcli11-dev
  libjpeg-dev libpng-dev
  libgtest-dev libbenchmark-dev
  $*"

fail() {
  echo "install_deps: $1" >&2
  exit 1
}

command -v dpkg-query >/dev/null || fail "not a Debian system; install by hand:$(echo $packages | sed 's/^/ /')"

missing=""
for package in $packages; do
  case "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" in
    installed) ;;
    *) missing="$missing $package" ;;
  esac
done
[ -n "$missing" ] || exit 0

as_root=""
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || fail "run as root: apt-get install$missing"
  as_root="sudo"
fi
echo "install_deps: installing$missing"
$as_root apt-get -qq update || fail "apt-get update failed; still missing:$missing"
$as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends $missing >/dev/null ||
  fail "apt-get install failed; still missing:$missing"
