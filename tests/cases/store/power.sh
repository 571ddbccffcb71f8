# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# For cases whose target loses power, with an export on its virtio disk.
#
# Data that the target's machine has not flushed is really lost. A file is sparse, and its file
# system commits newly written blocks only when asked to. A block device is a loop device on the
# virtio disk. Its volatile cache is the page cache, which only a flush writes back.
#
# The initiator's machine keeps its power, tells the target's what to serve, and does the
# checks.

# shellcheck source=tests/cases/store/lib.sh
source "$RDMABLK_TOP/tests/cases/store/lib.sh"
require mkfs.ext4 losetup

BOOT=600	# seconds, more than the other machine takes for anything
BYTES=16777216
WRITTEN=15728640	# by the writers; the last MiB stays as it was
UUID=5d3f8e0a-6c1b-4f55-9f3e-2b7a7c90d1e4
FAULTY=$RDMABLK_TOP/build/peers/faults/rdmablkd

# --- the target's machine -----------------------------------------------------------

place_file() {
	if [[ $1 == fresh ]]; then
		mkfs.ext4 -q -F /dev/vda
	fi
	mkdir -p $DISK
	mount -o commit=600 /dev/vda $DISK
	if [[ $1 == fresh ]]; then
		truncate -s $BYTES $DISK/disk0
		sync
	fi
	STORE=$DISK/disk0
}

place_disk() {
	if [[ $1 == fresh ]]; then
		dd if=/dev/zero of=/dev/vda bs=1M count=$((BYTES >> 20)) conv=fsync status=none
	fi
	STORE=$(losetup -f --show --sizelimit $BYTES /dev/vda)
}

unplace_file() {
	umount $DISK
}

unplace_disk() {
	losetup -d "$STORE"
}

# target_power: carries out the plans, each number once, over all boots of the machine
target_power() {
	local n=1 place='' text words

	echo 0 >/proc/sys/vm/dirty_writeback_centisecs
	modprobe -a virtio_blk loop
	while [[ -e /run/vm/served.$n ]]; do
		((++n))
	done
	while :; do
		text=$(peer_wait "plan.$n" $BOOT)
		read -ra words <<<"$text"
		if [[ $place ]]; then
			stop_target
			"unplace_$place"
		fi
		place=${words[0]}
		[[ $place != over ]] || break
		"place_$place" "${words[1]}"
		cat "$STORE" >"/run/vm/found.$n"
		RDMABLKD=$RDMABLK_TOP/target/rdmablkd
		((${#words[@]} == 3)) || RDMABLKD=$FAULTY
		# The daemon's state directory is on another disk, which loses nothing.
		serve_file "$STORE,cache=${words[2]},uuid=$UUID" --state-dir /run/vm/state \
			"${words[@]:3}"
		peer_set "served.$n"
		((++n))
	done
	peer_set ended
}

# --- the initiator's machine ---------------------------------------------------------

PLAN=0

# plan PLACE fresh|kept CACHE [OPTION...]: sends the target's machine its next plan
plan() {
	peer_set "plan.$((++PLAN))" "$*"
}

# served: waits until the plan is served; the store's contents at that time are in $FOUND
served() {
	peer_wait "served.$PLAN" $BOOT >/dev/null
	FOUND=/run/vm/found.$PLAN
	rm -f "/run/vm/found.$((PLAN - 1))"
}

# cut PLACE CACHE: cuts the target's power, and starts its machine again
cut() {
	host_do kill target
	plan "$1" kept "$2"
	host_do start target
	served
}

# fails: the disk fails, because acknowledged data is lost
fails() {
	wait_state failed
	expect 'store has lost its contents' "$(<$SESSION/reason)" "the reason"
}

accept_loss() {
	run_expect 1 'the loss is not accepted' "$RDMABLK" reconnect rdmablk0
	"$RDMABLK" reconnect --accept-data-loss --wait "$PATIENCE" rdmablk0
	dd if=$DEV iflag=direct bs=1M status=none | cmp - "$FOUND" ||
		fail "the disk is not what the store has"
}

# promise: whether the store has the data of all fsyncs that have returned
promise() {
	python3 "$DURABLE" check "$FOUND" $WRITTEN "$DURABLE_LOG" fsynced >/tmp/verdict
}

# under_load PLACE CACHE [OPTION...]: cuts the power under writers, with a new store
under_load() {
	plan "$1" fresh "${@:2}"
	served
	durable_write $WRITTEN 40
	cut "$1" "$2"
}

# with_writers PLACE CACHE: all synced data is there; the disk fails, because other data is lost
with_writers() {
	under_load "$@"
	promise || fail "$*: the store lacks what was promised: $(tail -n 3 /tmp/verdict)"
	cat /tmp/verdict
	expect true "$(status unflushed)" "unflushed"
	fails
	wait "$WRITER"
	accept_loss
}

# with_all_flushed PLACE CACHE: nothing is missing, and the disk goes on
with_all_flushed() {
	local errors

	errors=$(status errors)
	dd if=/dev/urandom of=$DEV bs=64k count=64 oflag=direct conv=fsync status=none
	expect false "$(status unflushed)" "unflushed after an fsync"
	dd if=$DEV of=/dev/shm/flushed iflag=direct bs=1M status=none
	cut "$@"
	cmp /dev/shm/flushed "$FOUND" || fail "$*: the store lacks what was flushed"
	wait_state live
	expect "$errors" "$(status errors)" "the number of failed requests"
}

# with_one_write PLACE CACHE: an unflushed write is lost with the volatile cache. If it were
# not, the other checks would prove nothing.
with_one_write() {
	dd if=/dev/urandom of=$DEV bs=64k count=16 seek=240 oflag=direct status=none
	expect true "$(status unflushed)" "unflushed after a write"
	cut "$@"
	cmp /dev/shm/flushed "$FOUND" || fail "$*: no power was lost"
	fails
	"$RDMABLK" disconnect --force rdmablk0
}

# with_a_fault PLACE CACHE: a flush that does nothing is noticed
with_a_fault() {
	under_load "$@" --fault lost-flush
	if promise; then
		fail "$*: nobody has noticed lost-flush: $(</tmp/verdict)"
	fi
	grep -q 'at least' /tmp/verdict || fail "$*: $(tail -n 3 /tmp/verdict)"
	"$RDMABLK" disconnect --force rdmablk0
	wait "$WRITER" || :
}

# power_failures CACHE PLACE...: the whole case
power_failures() {
	local place

	if [[ $ROLE == target ]]; then
		target_power
		return
	fi
	load_module
	for place in "${@:2}"; do
		echo "== $place, cache=$1"
		with_writers "$place" "$1"
		with_all_flushed "$place" "$1"
		with_one_write "$place" "$1"
		with_a_fault "$place" "$1"
	done
	unload_module
	plan over
	peer_wait ended $BOOT >/dev/null
}
