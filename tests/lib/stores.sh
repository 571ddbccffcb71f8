# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# For cases, and tests/campaign, whose history is one of a disk of any store. Source it
# after lib/history.sh.
#
#	store_make memory|none|full BYTES	what the store is to be made of; else it is
#					8 MiB of memory
#	store_serve [OPTION...]		the daemon with it as disk0, again and again
#	store_check			the writer has ended: what it wrote is everywhere
#	store_check_flushed		the daemon has ended: what was flushed is there
#	store_remove			another one can be made
#
# A file is a loop device. Its volatile cache is the page cache of what is below it,
# which nobody writes back but a flush, and which outlives the daemon. $MEDIUM has what
# has been flushed, and perhaps more. A store in memory has its arena kept.

MEDIUM=/dev/ram0
STORE=memory STORE_EXPORT=memory,arena=$ARENA,size=8M STORE_PLACES=("$ARENA")
STORE_LOOKS=0	# at what was flushed

# store_device BYTES: sets STORE_DEVICE
store_device() {
	local major minor

	modprobe -a loop dm-mod
	modprobe brd rd_nr=1 rd_size=$(($1 / 1024))
	wait_until 10 test -b $MEDIUM || fail "no $MEDIUM"
	echo 0 >/proc/sys/vm/dirty_writeback_centisecs
	# A page cache of its own: what is below is read as it is.
	dmsetup create cached --table "0 $(($1 / 512)) linear $MEDIUM 0"
	IFS=: read -r major minor < <(dmsetup info -c --noheadings -o major,minor cached)
	rm -f /dev/cached
	mknod /dev/cached b "$major" "$minor"
	wait_until 10 test -b /dev/loop0 || fail "no /dev/loop0"
	STORE_DEVICE=$(losetup -f --show /dev/cached) ||
		fail "$(ls -l /dev/cached /dev/loop* /dev/dm* /dev/mapper)"
	# else a flush would be nobody's
	expect 'write back' "$(<"/sys/block/${STORE_DEVICE#/dev/}/queue/write_cache")" \
		"the kind of cache of $STORE_DEVICE"
}

store_make() {
	STORE=$1
	rm -f "$ARENA" "$HISTORY_LOG"
	[[ $STORE == memory ]] || store_device "$2"
	case $STORE in
	memory)
		STORE_EXPORT=memory,arena=$ARENA,size=$2
		STORE_PLACES=("$ARENA")
		;;
	none)
		STORE_EXPORT=file=$STORE_DEVICE,cache=none
		STORE_PLACES=("$MEDIUM")
		;;
	full)
		STORE_EXPORT=file=$STORE_DEVICE,cache=full,arena=$ARENA
		STORE_PLACES=("$MEDIUM" "$ARENA")
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

# The medium comes first: a flush that is answered too early is still under way.
store_check() {
	local data

	timeout "$PATIENCE" sync "$DEV" || fail "$DEV cannot be flushed"
	for data in "${STORE_PLACES[@]}" "$DEV"; do
		history_check "$data"
	done
}

# Others are still in the middle of something: the log comes last, so that it has all
# that may be there. Sectors may be written back while they are written anew.
store_check_flushed() {
	[[ $STORE != memory ]] || return 0
	dd if=$MEDIUM of=/dev/shm/medium bs=1M iflag=direct status=none
	cp "$HISTORY_LOG" /dev/shm/history
	HISTORY_LOG=/dev/shm/history history_check --flushed --unclean --torn \
		/dev/shm/medium
	rm /dev/shm/medium /dev/shm/history
	((++STORE_LOOKS))
}

# store_remove: its daemon has ended
store_remove() {
	[[ $STORE != memory ]] || return 0
	losetup -d "$STORE_DEVICE"
	dmsetup remove --retry cached
	rmmod brd
}
