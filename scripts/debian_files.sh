#!/bin/sh
# Fetches from Debian 12 what cannot be installed beside the build machine's own packages, without touching these:
#
#   debian_files.sh highway                 the source of Highway, in build/debian/highway (Debian has no static library of it)
#   debian_files.sh headers                 headers that every system can share, in build/debian/headers
#   debian_files.sh sysroot arm64|armhf|i386   the libraries of another architecture, in build/debian/sysroot-ARCH
#   debian_files.sh jre arm64               a Java virtual machine of another architecture, in build/debian/jre-ARCH
#
# apt keeps its lists for this in build/debian, so nothing here needs root. What is there already is left alone.
set -eu
cd "$(dirname "$0")/.."
mkdir -p build/debian
root=$PWD/build/debian

apt() {
  apt-get -qq -o Dir::Etc::sourcelist="$root/sources.list" -o Dir::Etc::sourceparts=/dev/null \
    -o Dir::State::lists="$root/lists" -o Dir::Cache="$root/cache" -o APT::Sandbox::User="$(id -un)" \
    -o APT::Architectures::=amd64 -o APT::Architectures::="$arch" "$@"
}

update() {
  mkdir -p "$root/lists/partial" "$root/cache/archives/partial" "$work"
  key=/usr/share/keyrings/debian-archive-keyring.gpg
  echo "deb [arch=$arch signed-by=$key] http://deb.debian.org/debian bookworm main
deb-src [signed-by=$key] http://deb.debian.org/debian bookworm main" >"$root/sources.list"
  apt update
}

done_file=$root/$1-${2-source}-2.done # another number when what is fetched has changed
[ ! -e "$done_file" ] || exit 0
work=$root/download-$$
trap 'rm -rf "$work"' EXIT
case "$1" in
highway)
  arch=$(dpkg --print-architecture)
  rm -rf "$root/highway"
  update
  (cd "$work" && apt source --download-only highway && dpkg-source --no-check -x highway_*.dsc "$root/highway") >/dev/null
  ;;
headers)
  arch=$(dpkg --print-architecture)
  rm -rf "$root/headers"
  update
  (cd "$work" && apt download nlohmann-json3-dev libcli11-dev)
  for package in "$work"/*.deb; do dpkg -x "$package" "$root/headers"; done
  ;;
sysroot)
  arch=$2
  rm -rf "$root/sysroot-$arch"
  update
  (cd "$work" && apt download zlib1g:"$arch" zlib1g-dev:"$arch" libjpeg62-turbo-dev:"$arch" libpng-dev:"$arch" libgtest-dev:"$arch" \
    googletest nlohmann-json3-dev libcli11-dev)
  for package in "$work"/*.deb; do dpkg -x "$package" "$root/sysroot-$arch"; done
  for link in "$root/sysroot-$arch"/usr/lib/*/libz.so; do # which names a file of the whole system
    triple=$(basename "$(dirname "$link")")
    ln -sf "../../../lib/$triple/libz.so.1" "$link"
  done
  ;;
jre)
  arch=$2
  rm -rf "$root/jre-$arch"
  update
  (cd "$work" && apt download openjdk-17-jre-headless:"$arch" zlib1g:"$arch")
  for package in "$work"/*.deb; do dpkg -x "$package" "$root/jre-$arch"; done
  ;;
esac
touch "$done_file"
