#!/usr/bin/env bash
# Builds the images ouro-arena, ouro-learner, ouro-actor, ouro and ouro-redis without a registry, from
# binaries that are already compiled.
#
#   deploy/offline/build.sh [--mesa] [--observability] DIR
#
# DIR holds the programs of the same names; Redis is Debian's. --mesa also builds ouro-learner-mesa, for
# AMD and Intel GPUs, and --observability builds ouro-prometheus. The bases consist of Debian packages
# that debootstrap downloads and verifies. A base that this script made before is used again.
#
#   SUITE       release of Debian (bookworm); the binaries must run with its C library
#   MIRROR      a Debian mirror, also file:/// (http://deb.debian.org/debian)
#   OURO_TAG    tag of the images (latest)
set -euo pipefail

fail() {
    echo "offline/build.sh: $1" >&2
    exit "${2:-1}"
}

usage="usage: deploy/offline/build.sh [--mesa] [--observability] DIR"
mesa= observability=
while [[ "${1-}" == --* ]]; do
    case "$1" in
        --mesa) mesa=--mesa ;;
        --observability) observability=--observability ;;
        *) fail "unknown option '$1'; $usage" 64 ;;
    esac
    shift
done
[ $# = 1 ] || fail "one folder of binaries is needed; $usage" 64
binaries="$(realpath -- "$1")"
here="$(dirname "$(realpath "$0")")"
suite="${SUITE:-bookworm}"
mirror="${MIRROR:-http://deb.debian.org/debian}"

for name in ouro-arena ouro-learner ouro-actor ouro; do
    [ -x "$binaries/$name" ] || fail "no program $binaries/$name; compile it with \
'cargo build --profile dist' and pass the folder" 66
done
docker info >/dev/null 2>&1 || fail "the docker daemon does not answer; start dockerd" 69

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

# Debian packages of each base; their dependencies are added. libxext6 is needed by NVIDIA's driver.
# Mesa's drivers depend on Python for a script that no driver runs, Redis and Prometheus on the tools of
# their services. The time zones of Prometheus' old page have 200 MB.
base=(base-files libc6 libgcc-s1)
gpu=("${base[@]}" libvulkan1 libxext6)
mesa_drivers=("${gpu[@]}" mesa-vulkan-drivers)
redis=("${base[@]}" redis-server)
prometheus=("${base[@]}" prometheus)
left_out=" python3 python3-minimal debconf adduser lsb-base libjs-moment-timezone "

# A base is made again if this script, the release or the mirror has changed.
recipe="$(sha256sum "$0" | cut -c1-16)-$suite-$mirror"

# Downloads all packages once.
packages() {
    [ ! -d "$work/debs" ] || return 0
    command -v debootstrap >/dev/null || fail "debootstrap is missing; install it" 69
    [ "$(id -u)" = 0 ] || fail "debootstrap needs root; run this script as root" 77
    echo "downloading packages of $suite from $mirror"
    local include="libvulkan1,libxext6,redis-server${mesa:+,mesa-vulkan-drivers}"
    include+="${observability:+,prometheus}"
    debootstrap --variant=minbase --download-only --include="$include" "$suite" "$work/debs" \
        "$mirror" >"$work/debootstrap.log" 2>&1 \
        || fail "debootstrap: $(grep '^E:' "$work/debootstrap.log" | tail -n 1)"
}

# The file of a package.
deb() {
    local file
    for file in "$work/debs/var/cache/apt/archives/$1"_*.deb; do
        [ -f "$file" ] || fail "the mirror has no package $1"
        echo "$file"
    done
}

# Unpacks packages and their dependencies into folder $1.
unpack() {
    local root="$1" seen="$left_out" queue name file
    shift
    queue=("$@")
    # Directories of /usr, as every Debian system has had since bookworm.
    mkdir -p "$root"/usr/{bin,lib,lib64,sbin}
    for name in bin lib lib64 sbin; do
        ln -s "usr/$name" "$root/$name"
    done
    while [ ${#queue[@]} -gt 0 ]; do
        name="${queue[0]}"
        queue=("${queue[@]:1}")
        [[ "$seen" != *" $name "* ]] || continue
        seen+="$name "
        file="$(deb "$name")"
        dpkg-deb --fsys-tarfile "$file" | tar -x --keep-directory-symlink -C "$root" \
            --exclude='./usr/share/doc/*/[!c]*' --exclude='./usr/share/doc/*/changelog*' \
            --exclude='./usr/share/man' --exclude='./usr/share/locale' \
            --exclude='./usr/share/lintian' --exclude='./usr/share/X11/locale' \
            --exclude='./usr/share/bug' --exclude='*/gconv'
        # Scanners of images read the list of packages here.
        mkdir -p "$root/var/lib/dpkg/status.d"
        dpkg-deb -f "$file" >"$root/var/lib/dpkg/status.d/$name"
        # The first of alternative dependencies, without versions.
        mapfile -t -O "${#queue[@]}" queue < <(dpkg-deb -f "$file" Depends | tr ',' '\n' \
            | sed -E 's/\|.*//; s/\(.*//; s/:any//; s/[[:space:]]//g; /^$/d')
    done
}

# Makes the image $1 from the packages that follow.
make_base() {
    local image="$1" root="$work/$1" made
    shift
    made="$(docker image inspect -f '{{index .Config.Labels "ouro.recipe"}}' "$image" \
        2>/dev/null || true)"
    if [ "$made" = "$recipe" ]; then
        echo "$image is up to date"
        return
    fi
    packages
    mkdir "$root"
    unpack "$root" "$@"
    # lvp is Mesa's software adapter, which would stand in for a missing driver.
    rm -f "$root"/usr/share/vulkan/icd.d/lvp_icd.*
    printf 'root:x:0:0:root:/:/nonexistent\nouro:x:65532:65532:ouro:/var/lib/ouro:/nonexistent\n' \
        >"$root/etc/passwd"
    printf 'root:x:0:\nouro:x:65532:\n' >"$root/etc/group"
    mkdir -p "$root/tmp"
    chmod 1777 "$root/tmp"
    ldconfig -r "$root"
    import "$root" "$image" --change "LABEL ouro.recipe=$recipe" \
        --change 'ENV PATH=/usr/local/bin:/usr/bin'
}

# Imports folder $1 as image $2. The owner of all files is root.
import() {
    local root="$1" image="$2"
    shift 2
    tar -c --numeric-owner --owner=0 --group=0 --sort=name -C "$root" . \
        | docker import "$@" - "$image" >/dev/null || fail "docker cannot import $image"
}

make_base ouro-base "${base[@]}"
make_base ouro-base-gpu "${gpu[@]}"
make_base ouro-base-redis "${redis[@]}"
[ -z "$mesa" ] || make_base ouro-base-mesa "${mesa_drivers[@]}"
[ -z "$observability" ] || make_base ouro-base-prometheus "${prometheus[@]}"

mkdir -p "$work/binaries/empty"
cp "$binaries"/ouro{-arena,-learner,-actor,} "$work/binaries"
! command -v strip >/dev/null || strip "$work"/binaries/ouro*
import "$work/binaries" ouro-binaries --change 'LABEL ouro.recipe=binaries'
"$here/../images.sh" ${mesa:+"$mesa"} ${observability:+"$observability"}
# Images that these have replaced. Images inherit the label of their base.
docker image prune --force --filter label=ouro.recipe >/dev/null
