# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# For the cases of data, block and fs: one disk whose target memory can be
# looked at.
#
# The export disk0 lies in $ARENA, a file on tmpfs that the daemon maps: what
# the initiator reads and writes by RDMA, 'cmp' and 'dd' see from the target's
# side. Behind the contents comes a page that is the daemon's own.

# shellcheck source=tests/lib/guest.sh
source "$RDMABLK_TOP/tests/lib/guest.sh"

# shellcheck disable=SC2034 # for the cases
DEV=/dev/rdmablk0 QUEUE=/sys/block/rdmablk0/queue \
	SESSION=/sys/block/rdmablk0/rdmablk ARENA=/dev/shm/disk0 \
	CASES=$RDMABLK_TOP/tests/cases

# serve SIZE[,WORD...] [OPTION...]: the daemon with the export disk0
serve() {
	start_target --insecure --listen "${LISTEN:-$TARGET_ADDR}" \
		--export "disk0,memory,arena=$ARENA,size=$1" "${@:2}"
}

# connect [OPTION...]: connects the disk by netlink, as $DEV. The kernel 'debug' may take longer
# than the default timeout on a busy host.
connect() {
	local path time=()

	[[ ! -e /sys/kernel/debug/kmemleak ]] || time=(--connect-tmo 60)
	path=$("$RDMABLK" connect "${time[@]}" "$@" "$TARGET_ADDR/disk0")
	[[ $path == "$DEV" && -b $DEV ]] || fail "connect printed '$path'"
}

disconnect() {
	"$RDMABLK" disconnect rdmablk0
	[[ ! -e $DEV ]] || fail "$DEV outlives the disconnect"
}

# disk_values VERB N KEY...: prints values of a disk from 'rdmablk VERB --json', one a line. jq
# would take ten times as long in a guest, because it compiles a library of its own at each
# start.
disk_values() {
	local verb=$1 dev=rdmablk$2 key query=(-e devices -e 0 -e "$3" -u)

	for key in "${@:4}"; do
		query+=(-p -e "$key" -u)
	done
	"$RDMABLK" "$verb" "$dev" --json | jshon "${query[@]}"
}

# status KEY: one value of 'rdmablk status --json'
status() {
	disk_values status 0 "$1"
}

# expect WANT GOT WHAT
expect() {
	[[ $2 == "$1" ]] || fail "$3 is '$2', not '$1'"
}

# random_file SIZE FILE
random_file() {
	head -c "$1" /dev/urandom >"$2"
}

# same_as_target FILE [BYTES]: FILE begins with what the target's memory holds
same_as_target() {
	cmp -n "${2:-$(blockdev --getsize64 "$DEV")}" "$1" "$ARENA" ||
		fail "$1 differs from the target's memory"
}

# device_same_as_target: direct READs, past all caches of the initiator, return the target's
# memory
device_same_as_target() {
	dd if="$DEV" iflag=direct bs=1M status=none |
		cmp -n "$(blockdev --getsize64 "$DEV")" - "$ARENA" ||
		fail "direct reads differ from the target's memory"
}

# still_live: the disk is live, and no request has failed
still_live() {
	expect live "$(<$SESSION/state)" "the state"
	expect 0 "$(status errors)" "the number of failed requests"
}

# run_fio [OPTION|JOBFILE...]: runs fio; prints its report only when it fails
run_fio() {
	if ! fio --output=/tmp/fio.out "$@"; then
		cat /tmp/fio.out >&2
		fail "fio: $*"
	fi
}

# fio_verify SIZE [OPTION...]: the load of most cases. 4 writers, each in a quarter of SIZE MiB,
# write blocks of 512 bytes to 256 KiB at any sector. Each block carries its checksum and
# position, and all are read back.
fio_verify() {
	run_fio --name=verify --filename="$DEV" --direct=1 --ioengine=io_uring \
		--iodepth=16 --numjobs=4 --size=$(($1 / 4))M \
		--offset_increment=$(($1 / 4))M --rw=randwrite --norandommap \
		--bssplit=512/30:1536/20:4k/20:33280/20:256k/10 --blockalign=512 \
		--serialize_overlap=1 --verify=crc32c --verify_fatal=1 \
		--do_verify=1 --group_reporting "${@:2}"
}

# verify_all_ways: jobs with several engines, sizes and depths, and a mapping, read back what
# they wrote, and the target's memory has it
verify_all_ways() {
	export DEV
	run_fio "$CASES/data/mixed.fio"
	run_fio "$CASES/data/both-ways.fio"
	python3 "$CASES/data/mapped.py" "$DEV" 6
	sync "$DEV"
	same_as_target "$DEV"
	device_same_as_target
	still_live
}
