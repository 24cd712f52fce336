#!/usr/bin/env bash
# What README.md describes, the making of packages: scripts/install-deps.sh --package installs all that debian/control names as
# needed for a build, and it is installed here. With SPLITNIC_LONG=1 dpkg-buildpackage also builds the packages from the sources
# that git has, with nothing from another build, which takes a quarter of an hour on 2 cores.
#   build.sh SOURCE
set -uo pipefail
export LC_ALL=C.UTF-8
fail() { echo "FAILED: $1" >&2 && exit 1; }
source=$(cd "$1" && pwd) || exit 2
work=$(mktemp -d "${TMPDIR:-/tmp}/splitnic.XXXXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# The packages that debian/control names for this machine, one per line, and build-essential, which every build of a package
# needs; debhelper-compat is provided by debhelper.
build_depends() {
  echo build-essential
  perl -MDpkg::Control::Info -MDpkg::Deps -e '
    my $needed = Dpkg::Control::Info->new($ARGV[0])->get_source()->{"Build-Depends"};
    print join("\n", map { $_->{package} } deps_parse($needed, build_dep => 1, reduce_arch => 1)->get_deps()), "\n";' "$1" |
    sed 's/^debhelper-compat$/debhelper/'
}

check_needed() {
  local build=() package=() needed
  dpkg-checkbuilddeps "$source/debian/control" || fail "debian/control names packages that are not installed"
  eval "$(sed -nE '/^build=\(/,/\)$/p; /^package=\(/,/\)$/p; /&& build\+=\(/p' "$source/scripts/install-deps.sh")"
  [ ${#build[@]} -gt 10 ] && [ ${#package[@]} -gt 1 ] || fail "no lists in scripts/install-deps.sh"
  build_depends "$source/debian/control" >"$work/needed" && [ "$(wc -l <"$work/needed")" -gt 10 ] || fail "no Build-Depends in debian/control"
  while read -r needed; do
    [[ " ${build[*]} ${package[*]} " == *" $needed "* ]] || fail "scripts/install-deps.sh --package does not install $needed of Build-Depends"
  done <"$work/needed"
}

# debhelper gives the build another home, in which ccache would find nothing.
build_packages() {
  local version name
  mkdir "$work/src"
  git -c safe.directory='*' -C "$source" archive HEAD | tar -C "$work/src" -xf - || fail "no copy of the sources"
  if command -v ccache >/dev/null; then CCACHE_DIR=${CCACHE_DIR:-$(ccache --get-config cache_dir)} && export CCACHE_DIR; fi
  (cd "$work/src" && env -u SPLITNIC_BUILD dpkg-buildpackage -b -us -uc) >"$work/log" 2>&1 || fail "dpkg-buildpackage: $(tail -n 30 "$work/log")"
  version=$(dpkg-parsechangelog -l "$work/src/debian/changelog" -S Version)_$(dpkg --print-architecture)
  for name in host iou tools dev; do
    [ -s "$work/splitnic-${name}_$version.deb" ] || fail "no package splitnic-$name: $(ls "$work")"
    dpkg-deb -x "$work/splitnic-${name}_$version.deb" "$work/root" || fail "splitnic-$name cannot be unpacked"
  done
  for name in splitnic splitnic-host splitnic-iou splitnic-switch; do
    [[ $("$work/root/usr/bin/$name" --version) == *" ${version%-*}" ]] || fail "$name has another version"
  done
  [ -d "$work/src/build/debian" ] || fail "dpkg-buildpackage did not build"
}

check_needed
[ "${SPLITNIC_LONG:-0}" != 1 ] || build_packages
echo "build: ok"
