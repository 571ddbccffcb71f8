# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The kernel 'debug' of the cache: Debian's source of 6.12 with the options of
# tests/vm/debug.config, which find mistakes in memory, locks and lifetimes of objects, and make
# allocations fail on demand. Building it takes a quarter of an hour of two processors, so only
# tests/setup --debug does that.
#
# $RDMABLK_CACHE/kernels/debug looks like any other kernel of the cache, and its link, too,
# moves only when the kernel is complete. Source this file after tests/lib/kernels.sh.

debug_source=/usr/src/linux-source-6.12.tar.xz
debug_fragment=$RDMABLK_TOP/tests/vm/debug.config

# The key of the kernel is a hash of everything it is made of.
debug_key() {
	{
		dpkg-query -W -f '${Version}\n' linux-source-6.12
		gcc --version | head -n 1
		cat "$debug_fragment"
	} | sha256sum | cut -c1-16
}

# debug_is_current: whether the cache has this kernel already
debug_is_current() {
	[[ $(readlink "$kernels_root/debug") == ".store/debug-$(debug_key)" ]] &&
		kernel_is_complete debug
}

# Sources of other architectures and of devices that a guest never has are not unpacked.
# Configuration reads all Kconfig files, so these are.
debug_unpack() {
	local new=$1.new excludes=() pattern

	for pattern in '*/arch/[a-wyz]*/*.[chS]' '*/arch/xtensa/*.[chS]' \
		'*/drivers/gpu/*.[ch]' '*/drivers/media/*.[ch]' \
		'*/drivers/staging/*.[ch]' '*/sound/*.[ch]' '*.dts' '*.dtsi' \
		'*/tools/testing' '*/tools/perf' \
		'*/Documentation/*.rst' '*/Documentation/*.yaml'; do
		excludes+=(--exclude="$pattern")
	done
	rm -rf "$new"
	mkdir -p "$new"
	tar -xf "$debug_source" -C "$new" --strip-components=1 \
		"${excludes[@]}" || return 1
	mv "$new" "$1"
}

# The configuration may drop or change an option of the fragment. Nothing else would notice
# that, because its checks would just not run.
debug_check_options() {
	local config=$1 line wrong=0

	while read -r line; do
		if [[ $line == CONFIG_*=* ]]; then
			grep -qxF "$line" "$config" && continue
		else
			line=${line#\# } line=${line%% *}
			grep -q "^$line=" "$config" || continue
		fi
		echo "kernel debug: not as asked: $line" >&2
		wrong=1
	done < <(grep -E '^CONFIG_|^# CONFIG_.* is not set$' "$debug_fragment")
	return "$wrong"
}

debug_configure() {
	make -s -C "$1" ARCH=x86_64 KCONFIG_ALLCONFIG="$debug_fragment" \
		allnoconfig </dev/null >"$2" 2>&1 &&
		debug_check_options "$1/.config"
}

# debug_make SOURCE LOG: builds the kernel; prints its progress every half minute
debug_make() {
	local log=$2 pid said=$SECONDS

	make -C "$1" -j"$(nproc)" ARCH=x86_64 bzImage modules \
		</dev/null >"$log" 2>&1 &
	pid=$!
	# shellcheck disable=SC2064 # the process of now
	trap "kill $pid 2>/dev/null; exit 143" INT TERM HUP
	while kill -0 "$pid" 2>/dev/null; do
		if ((SECONDS - said >= 30)); then
			said=$SECONDS
			echo "kernel debug: $(grep -c '^  CC' "$log") files" \
				"compiled, $SECONDS s"
		fi
		sleep 1
	done
	trap - INT TERM HUP
	wait "$pid"
}

# Keeps the files that an external build reads, a twentieth of the whole tree.
debug_trim() {
	local source=$1

	find "$source" -mindepth 1 \( -path "$source/scripts" \
		-o -path "$source/include" -o -path "$source/arch/x86/include" \
		\) -prune -o -type f ! -path "$source/Makefile" \
		! -path "$source/Kbuild" ! -path "$source/.config" \
		! -path "$source/Module.symvers" \
		! -path "$source/arch/x86/Makefile*" \
		! -path "$source/tools/objtool/objtool" -exec rm -f {} + &&
		find "$source" -type d -empty -delete
}

debug_build() {
	local dir=$1 source=$1/source log=$1/build.log release

	[[ -d $source ]] || debug_unpack "$source" || return 1
	if ! debug_configure "$source" "$log" || ! debug_make "$source" "$log"
	then
		grep -E 'error:|\*\*\*' "$log" >&2 || tail -n 20 "$log" >&2
		echo "kernel debug: not built, see $log" >&2
		return 1
	fi
	release=$(<"$source/include/config/kernel.release")
	cp "$source/arch/x86/boot/bzImage" "$dir/vmlinuz"
	place_vmlinux "$dir" || return 1
	make -s -C "$source" ARCH=x86_64 INSTALL_MOD_PATH="$dir/modules" \
		INSTALL_MOD_STRIP=1 modules_install </dev/null >>"$log" 2>&1 ||
		return 1
	rm -f "$dir/modules/lib/modules/$release"/{build,source}
	debug_trim "$source" || return 1
	ln -sfn source "$dir/build"
	echo "$release" >"$dir/release"
}

# setup_debug_kernel: builds the kernel; goes on with an interrupted build
setup_debug_kernel() {
	local store dir

	store=.store/debug-$(debug_key)
	dir=$kernels_root/$store
	mkdir -p "$dir"
	if ! kernel_is_complete "$store"; then
		echo "kernel debug: building, which takes a quarter of an hour"
		debug_build "$dir" || return 1
		kernel_is_complete "$store" || {
			echo "kernel debug: incomplete in $dir" >&2
			return 1
		}
	fi
	ln -sfn "$store" "$kernels_root/.link-debug"
	mv -T "$kernels_root/.link-debug" "$kernels_root/debug"
	for dir in "$kernels_root"/.store/debug-*; do
		[[ $dir == */"$store" ]] || rm -rf "$dir"
	done
}
