# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Debian kernels in the cache: found, downloaded and unpacked, never installed.
#
# $RDMABLK_CACHE/kernels/<series> is a symbolic link to a directory of one release under
# kernels/.store. That directory is made in its final place, because a prepared kernel tree
# contains its own path. The link moves only when the directory is complete, so a user of the
# old release never loses its files.

kernels_root=$RDMABLK_CACHE/kernels
kernels_apt=$RDMABLK_CACHE/apt

# --- where packages come from ----------------------------------------------

# The URI and the keyring of the machine's own Debian source: other suites are
# reached the same way.
debian_uri() {
	# shellcheck disable=SC2016 # apt's own variables
	apt-get indextargets --format '$(LABEL)|$(COMPONENT)|$(REPO_URI)' \
		'Created-By: Packages' |
		awk -F'|' '$1 == "Debian" && $2 == "main" { print $3; exit }'
}

debian_keyring() {
	echo /usr/share/keyrings/debian-archive-keyring.gpg
}

# apt with a directory of its own: the machine's package manager must not see suites newer than
# the machine. The machine's apt.conf.d still applies (proxies, credentials).
private_apt_update() {
	local uri

	uri=$(debian_uri)
	[[ -n $uri ]] || { echo "no Debian apt source found" >&2; return 1; }
	mkdir -p "$kernels_apt"/{state/lists/partial,cache/archives/partial}
	for suite in trixie-backports sid; do
		echo "deb [arch=amd64 signed-by=$(debian_keyring)] $uri $suite main"
	done >"$kernels_apt/sources.list"
	cat >"$kernels_apt/apt.conf" <<-EOF
	Dir::State "$kernels_apt/state";
	Dir::State::status "/dev/null";
	Dir::Cache "$kernels_apt/cache";
	Dir::Etc::sourcelist "$kernels_apt/sources.list";
	Dir::Etc::sourceparts "/dev/null";
	Dir::Etc::preferences "/dev/null";
	Dir::Etc::preferencesparts "/dev/null";
	APT::Sandbox::User "root";
	EOF
	private_apt apt-get -qq update
}

private_apt() {
	APT_CONFIG=$kernels_apt/apt.conf "$@"
}

host_apt() {
	"$@"
}

# all_versions APT PACKAGE: newest first
all_versions() {
	"$1" apt-cache madison "$2" | awk -F' *\\| *' '{ print $2 }' | sort -rVu
}

# fetch APT DIR PACKAGE[=VERSION]...: downloads and unpacks into DIR
fetch() {
	local apt=$1 dir=$2 debs

	shift 2
	debs=$(mktemp -d "$kernels_root/debs.XXXXXX")
	if ! (cd "$debs" && "$apt" apt-get -qq -o APT::Sandbox::User=root \
		download "$@"); then
		rm -rf "$debs"
		return 1
	fi
	mkdir -p "$dir"
	for deb in "$debs"/*.deb; do
		dpkg-deb -x "$deb" "$dir" || { rm -rf "$debs"; return 1; }
	done
	rm -rf "$debs"
}

# --- which release ----------------------------------------------------------

# The releases of a series built by this Debian's own compiler, newest first.
# Cloud and real-time flavours have one more dash.
stable_candidates() {
	local re

	re="^linux-image-(${1//./\\.}\\.[0-9.]+([-+][a-z0-9]+)?-amd64)\$"
	apt-cache pkgnames linux-image- | sed -nE "s/$re/\\1/p" | sort -rV
}

# Bootable releases of all suites, newest first. The image lies in
# linux-binary-*; a release whose image is not signed yet has none.
newest_candidates() {
	private_apt apt-cache pkgnames linux-binary- |
		sed -nE 's/^linux-binary-([0-9.]+(\+[a-z0-9]+)?-amd64)$/\1/p' |
		sort -rV
}

# --- unpacking --------------------------------------------------------------

# modprobe in an emulated guest spends seconds in xz: store modules unpacked.
place_modules() {
	local raw=$1 dir=$2 release=$3 from

	for from in "$raw"/usr/lib/modules "$raw"/lib/modules; do
		[[ -d $from/$release ]] || continue
		mkdir -p "$dir/modules/lib/modules/$release"
		cp -al "$from/$release/." "$dir/modules/lib/modules/$release/"
	done
	from=$dir/modules/lib/modules/$release
	rm -f "$from/build" "$from/source"
	find "$from" -name '*.ko.xz' -print0 | xargs -0r -P2 -n64 xz -df
	find "$from" -name '*.ko.zst' -print0 | xargs -0r -P2 -n64 zstd -dfq --rm
	depmod -b "$dir/modules" "$release"
}

place_vmlinuz() {
	local raw=$1 dir=$2 release=$3 image

	for image in "$raw/boot/vmlinuz-$release" \
		"$raw/usr/lib/modules/$release/vmlinuz" \
		"$raw/lib/modules/$release/vmlinuz"; do
		[[ -f $image ]] || continue
		cp "$image" "$dir/vmlinuz"
		place_vmlinux "$dir"
		return
	done
	echo "no kernel image in the packages of $release" >&2
	return 1
}

# number FILE OFFSET BYTES: a little-endian number
number() {
	od -An -v -t "u$3" -j "$2" -N "$3" "$1" | tr -d ' '
}

# An emulated processor takes seconds to unpack a bzImage, so a guest boots the
# ELF image inside. See Documentation/arch/x86/boot.rst of the kernel for the
# header; the compressed stream is followed by four bytes of length.
place_vmlinux() {
	local image=$1/vmlinuz out=$1/vmlinux start length

	start=$(( ($(number "$image" $((0x1f1)) 1) + 1) * 512 +
		$(number "$image" $((0x248)) 4) ))
	length=$(( $(number "$image" $((0x24c)) 4) - 4 ))
	tail -c "+$((start + 1))" "$image" | head -c "$length" >"$out.packed"
	if ! zstd -dcq "$out.packed" >"$out" 2>/dev/null &&
		! xz -dc "$out.packed" >"$out" 2>/dev/null; then
		echo "$image is packed in an unknown way" >&2
		return 1
	fi
	rm -f "$out.packed"
}

# Headers packages expect to be in /usr/src; links inside the tree are relative already.
relocate_headers() {
	local headers=$1 release=$2

	sed -i "s|^include /usr/src/|include $headers/usr/src/|" \
		"$headers/usr/src/linux-headers-$release/Makefile"
	rm -rf "${headers:?}/lib/modules" "${headers:?}/usr/share"
}

# make_stable DIR RELEASE SERIES: from packages whose headers fit this gcc
make_stable() {
	local dir=$1 release=$2 series=$3 kbuild

	kbuild=$(apt-cache depends "linux-headers-$release" |
		sed -nE 's/.*Depends: (linux-kbuild-[^ ]+)$/\1/p' | head -n 1)
	fetch host_apt "$dir/headers" "linux-headers-$release" \
		"linux-headers-${release%-amd64}-common" \
		"${kbuild:-linux-kbuild-$series}" || return 1
	relocate_headers "$dir/headers" "$release"
	ln -sfn "headers/usr/src/linux-headers-$release" "$dir/build"
	fetch host_apt "$dir/raw" "linux-image-$release" || return 1
	place_vmlinuz "$dir/raw" "$dir" "$release" &&
		place_modules "$dir/raw" "$dir" "$release"
}

# The parts of the source that modules_prepare and an external build never read, which is most
# of it, are not unpacked.
unpack_source() {
	local archive=$1 dir=$2

	mkdir -p "$dir"
	tar -xf "$archive" -C "$dir" --strip-components=1 \
		--exclude='*/drivers/*.c' --exclude='*/drivers/gpu/*.h' \
		--exclude='*/drivers/net/*.h' --exclude='*/sound/*.[ch]' \
		--exclude='*/fs/*.c' --exclude='*/net/*.c' \
		--exclude='*.dts' --exclude='*.dtsi' \
		--exclude='*/tools/testing' --exclude='*/tools/perf' \
		--exclude='*/Documentation/*.rst' \
		--exclude='*/Documentation/*.yaml'
}

# Options that add members to structures shared with the kernel. Without pahole, for example,
# the module loader would read a struct module that is too short. Options that only describe the
# compiler may differ.
check_layout_options() {
	local want=$1 got=$2 symbol

	for symbol in MODVERSIONS DEBUG_INFO_BTF_MODULES SCHED_CLASS_EXT \
		FUNCTION_TRACER MITIGATION_ITS LIVEPATCH KFENCE; do
		if ! diff <(grep -w "CONFIG_$symbol" "$want") \
			<(grep -w "CONFIG_$symbol" "$got") >&2; then
			echo "CONFIG_$symbol differs from Debian's" >&2
			return 1
		fi
	done
}

# The newest kernel's own headers package wants a newer libc and compiler, so
# its source is prepared with the compiler at hand and Debian's configuration.
prepare_source() {
	local dir=$1 release=$2 headers=$3 log=$1/prepare.log

	cp "$headers/.config" "$dir/source/.config"
	if ! make -C "$dir/source" -j2 ARCH=x86_64 \
		KERNELRELEASE="$release" olddefconfig modules_prepare \
		</dev/null >"$log" 2>&1; then
		tail -n 20 "$log" >&2
		return 1
	fi
	check_layout_options "$headers/.config" "$dir/source/.config" ||
		return 1
	cp "$headers/Module.symvers" "$dir/source/"
	echo "$release" >"$dir/source/include/config/kernel.release"
	echo "#define UTS_RELEASE \"$release\"" \
		>"$dir/source/include/generated/utsrelease.h"
	ln -sfn source "$dir/build"
}

# make_newest DIR RELEASE: image and modules from the packages, KDIR from source. Both must be
# of one version, because structures change inside a series.
make_newest() {
	local dir=$1 release=$2 version upstream

	version=$(all_versions private_apt "linux-binary-$release" | head -n 1)
	upstream=$(echo "$release" | grep -oE '^[0-9]+\.[0-9]+')
	fetch private_apt "$dir/raw" "linux-headers-$release=$version" \
		"linux-source-$upstream=$version" \
		"linux-modules-$release=$version" "linux-base-$release=$version" \
		"linux-binary-$release=$version" || return 1
	place_vmlinuz "$dir/raw" "$dir" "$release" || return 1
	place_modules "$dir/raw" "$dir" "$release" || return 1
	unpack_source "$dir"/raw/usr/src/linux-source-*.tar.xz \
		"$dir/source" || return 1
	prepare_source "$dir" "$release" \
		"$dir/raw/usr/src/linux-headers-$release"
}

# --- the cache ---------------------------------------------------------------

# kernel_is_complete SERIES, or a directory of .store
kernel_is_complete() {
	local dir=$kernels_root/$1 release

	release=$(cat "$dir/release" 2>/dev/null) || return 1
	[[ -f $dir/vmlinuz && -s $dir/vmlinux && -f $dir/build/Makefile &&
		-f $dir/build/Module.symvers &&
		-f $dir/modules/lib/modules/$release/modules.dep ]]
}

# use_release SERIES RELEASE: makes it unless the cache has it, then links it
use_release() {
	local series=$1 release=$2 store=.store/$1-$2 dir

	dir=$kernels_root/$store
	if ! kernel_is_complete "$store"; then
		rm -rf "$dir"
		mkdir -p "$dir"
		if [[ $series == newest ]]; then
			make_newest "$dir" "$release" || return 1
		else
			make_stable "$dir" "$release" "$series" || return 1
		fi
		rm -rf "$dir/raw"
		echo "$release" >"$dir/release"
	fi
	ln -sfn "$store" "$kernels_root/.link-$series"
	mv -T "$kernels_root/.link-$series" "$kernels_root/$series"
}

# setup_kernel SERIES: the newest release that can really be downloaded
setup_kernel() {
	local series=$1 release tries=0 candidates

	mkdir -p "$kernels_root/.store"
	if [[ $series == newest ]]; then
		candidates=$(newest_candidates)
	else
		candidates=$(stable_candidates "$series")
	fi
	for release in $candidates; do
		echo "kernel $series: $release"
		if use_release "$series" "$release"; then
			return 0
		fi
		rm -rf "${kernels_root:?}/.store/$series-$release"
		if ((++tries == 3)); then
			break
		fi
	done
	if kernel_is_complete "$series"; then
		echo "warning: kernel $series: nothing newer to be had," \
			"keeping $(cat "$kernels_root/$series/release")" >&2
		return 0
	fi
	echo "kernel $series: no release could be downloaded" >&2
	return 1
}

# Removes releases without a link, and leftovers of an interrupted run. debug_kernel.sh removes
# kernels that were built here.
prune_kernels() {
	local dir series used=" "

	for series in "${RDMABLK_SERIES[@]}"; do
		used+="$(readlink "$kernels_root/$series") "
	done
	rm -rf "$kernels_root"/debs.*
	for dir in "$kernels_root"/.store/*; do
		[[ $used == *" .store/${dir##*/} "* || $dir == */debug-* ]] ||
			rm -rf "$dir"
	done
}
