# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# For cases, and tests/campaign, that check the history of a disk of any store. Source it
# after lib/history.sh.
#
#	store_make memory|none|full BYTES	prepares a store; without it the store is
#					8 MiB of memory
#	store_serve [OPTION...]		starts the daemon with the store as disk0, also again
#	store_check			when the writer has ended: its data is everywhere
#	store_check_flushed		when the daemon has ended: flushed data is there
#	store_medium FILE		copies the data of the disk that the medium has
#	store_remove			removes the store, so that another can be made
#
# "memory" has a kept arena. "none" is a loop device; "full" is a file on a loop device, with
# a kept arena. The volatile cache of the loop device is the page cache of the device below,
# which only a flush writes back, and which outlives the daemon. The RAM disk below that is
# the medium: it has flushed data, and perhaps more.

STORE=memory STORE_EXPORT=memory,arena=$ARENA,size=8M STORE_MOUNT=/mnt/store
STORE_SECTORS=0	# number of sectors checked
STORE_LOOKS=0	# number of checks of flushed data
STORE_BLOCK=4096

# store_device BYTES: sets STORE_DEVICE
store_device() {
	local major minor

	modprobe -a loop dm-mod
	modprobe brd rd_nr=1 rd_size=$(($1 / 1024))
	wait_until 10 test -b /dev/ram0 || fail "no /dev/ram0"
	wait_until 10 test -b /dev/loop0 || fail "no /dev/loop0"
	# Not 0: with 0 the kernel begins to write back as soon as a page is dirty.
	echo 360000 >/proc/sys/vm/dirty_writeback_centisecs
	# A device with a page cache of its own, so that the RAM disk can be read as it is
	dmsetup create cached --table "0 $(($1 / 512)) linear /dev/ram0 0"
	IFS=: read -r major minor < <(dmsetup info -c --noheadings -o major,minor cached)
	rm -f /dev/cached
	mknod /dev/cached b "$major" "$minor"
	STORE_DEVICE=$(losetup -f --show /dev/cached) ||
		fail "$(ls -l /dev/cached /dev/loop* /dev/mapper)"
	# Otherwise the disk would get no flush.
	expect 'write back' "$(<"/sys/block/${STORE_DEVICE#/dev/}/queue/write_cache")" \
		"the kind of cache of $STORE_DEVICE"
}

# store_file BYTES: makes a file whose blocks all exist and do not move; sets STORE_EXTENTS,
# each 'FROM TO COUNT' in blocks
store_file() {
	local extent='^ *[0-9]+: +([0-9]+)\.\. *[0-9]+: +([0-9]+)\.\. *[0-9]+: +([0-9]+):'
	local line

	STORE_EXTENTS=()
	# A lazy table of inodes would be zeroed, and all data flushed, after the mount.
	mkfs.ext4 -q -E lazy_itable_init=0 -b $STORE_BLOCK "$STORE_DEVICE"
	mkdir -p $STORE_MOUNT
	# Each commit is a flush.
	mount -o commit=600 "$STORE_DEVICE" $STORE_MOUNT
	head -c "$1" /dev/zero >$STORE_MOUNT/disk0
	sync -f $STORE_MOUNT
	while read -r line; do
		[[ $line =~ $extent ]] || continue
		STORE_EXTENTS+=("${BASH_REMATCH[2]} ${BASH_REMATCH[1]} ${BASH_REMATCH[3]}")
	done < <(filefrag -v -b$STORE_BLOCK $STORE_MOUNT/disk0)
	((${#STORE_EXTENTS[@]} > 0)) || fail "the file is nowhere"
}

store_make() {
	STORE=$1
	rm -f "$ARENA" "$HISTORY_LOG"
	case $STORE in
	memory)
		STORE_EXPORT=memory,arena=$ARENA,size=$2
		;;
	none)
		store_device "$2"
		STORE_EXTENTS=("0 0 $(($2 / STORE_BLOCK))")
		STORE_EXPORT=file=$STORE_DEVICE,cache=none
		;;
	full)
		store_device $(($2 + 25165824))
		store_file "$2"
		STORE_EXPORT=file=$STORE_MOUNT/disk0,cache=full,arena=$ARENA
		;;
	*)
		fail "there is no store '$STORE'"
		;;
	esac
}

store_serve() {
	start_target --insecure --listen "${LISTEN:-$TARGET_ADDR}" \
		--export "disk0,$STORE_EXPORT" "$@"
}

store_medium() {
	local extent from to count

	: >"$1"
	for extent in "${STORE_EXTENTS[@]}"; do
		read -r from to count <<<"$extent"
		dd if=/dev/ram0 of="$1" bs=$STORE_BLOCK skip="$from" seek="$to" \
			count="$count" iflag=direct conv=notrunc status=none
	done
}

# store_check_place DATA
store_check_place() {
	history_check "$1"
	[[ $OUTPUT =~ ' of '([0-9]+)' sectors are bad' ]]
	((STORE_SECTORS += BASH_REMATCH[1]))
}

# Checks the medium first: a flush that was answered too early is still under way then.
store_check() {
	timeout "$PATIENCE" sync "$DEV" || fail "$DEV cannot be flushed"
	if [[ $STORE != memory ]]; then
		store_medium /dev/shm/medium
		store_check_place /dev/shm/medium
		rm /dev/shm/medium
	fi
	[[ $STORE == none ]] || store_check_place "$ARENA"
	store_check_place "$DEV"
}

# Writers are still at work. So the log is read after the medium, and has all data that may be
# there. Sectors may be torn, because they are written back while they are written again.
store_check_flushed() {
	[[ $STORE != memory ]] || return 0
	store_medium /dev/shm/medium
	cp "$HISTORY_LOG" /dev/shm/history
	HISTORY_LOG=/dev/shm/history history_check --flushed --unclean --torn \
		/dev/shm/medium
	rm /dev/shm/medium /dev/shm/history
	((++STORE_LOOKS))
}

# store_remove: removes the store; its daemon has ended
store_remove() {
	case $STORE in
	memory) return ;;
	full) umount $STORE_MOUNT ;;
	esac
	losetup -d "$STORE_DEVICE"
	dmsetup remove --retry cached
	rmmod brd
}
