# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Paths. Each script of the tests sources this, on the host and in the guest, where the tree and
# the cache have the same paths.

RDMABLK_TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
RDMABLK_CACHE=${RDMABLK_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/rdmablk}
export RDMABLK_TOP RDMABLK_CACHE

# Checks figures and rules for Prometheus; tests/setup unpacks it.
# shellcheck disable=SC2034
RDMABLK_PROMTOOL=$RDMABLK_CACHE/promtool

# A /usr with Ceph, which guests lay over theirs; tests/setup unpacks it.
# shellcheck disable=SC2034
RDMABLK_CEPH=$RDMABLK_CACHE/ceph

# The kernels that tests/setup keeps; 'newest' is whatever Debian has.
# shellcheck disable=SC2034
RDMABLK_SERIES=(6.1 6.12 newest)

kernel_dir() {
	local dir=$RDMABLK_CACHE/kernels/$1

	if [[ ! -e $dir/release ]]; then
		echo "no kernel '$1' in $RDMABLK_CACHE, run tests/setup" >&2
		return 1
	fi
	readlink -f "$dir"
}

kernel_release() {
	local dir

	dir=$(kernel_dir "$1") && cat "$dir/release"
}

# kernel_slowness SERIES: how many times longer than on a distribution's kernel anything may
# take. Time limits are multiplied by it.
kernel_slowness() {
	if [[ $1 == debug ]]; then
		echo 4
	else
		echo 1
	fi
}

# The bzImage of the distribution.
kernel_vmlinuz() {
	local dir

	dir=$(kernel_dir "$1") && echo "$dir/vmlinuz"
}

# The ELF image inside, which is what a guest boots.
kernel_image() {
	local dir

	dir=$(kernel_dir "$1") && echo "$dir/vmlinux"
}

# A root for 'modprobe -d': it holds lib/modules/<release>.
kernel_modules() {
	local dir

	dir=$(kernel_dir "$1") && echo "$dir/modules"
}

# The KDIR of an external module build.
kernel_build() {
	local dir

	dir=$(kernel_dir "$1") && readlink -f "$dir/build"
}
