# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# For the cases of exports that are files or block devices.

# shellcheck source=tests/cases/fault/lib.sh
source "$RDMABLK_TOP/tests/cases/fault/lib.sh"

# shellcheck disable=SC2034 # for the cases
RAM=/dev/ram0 DISK=/mnt/target \
	DURABLE=$RDMABLK_TOP/tests/cases/store/durable.py

# ram_disk SIZE: makes /dev/ram0 with SIZE MiB
ram_disk() {
	modprobe brd rd_nr=1 rd_size=$(($1 * 1024))
	wait_until "$PATIENCE" test -b $RAM || fail "no $RAM"
}

# file_system [TYPE]: makes one on the RAM disk and mounts it at $DISK; its files allow O_DIRECT
file_system() {
	"mkfs.${1:-ext4}" -q "$RAM"
	mkdir -p $DISK
	mount "$RAM" $DISK
}

# serve_file FILE[,WORD...] [OPTION...]: starts the daemon with FILE as disk0
serve_file() {
	start_target --insecure --listen "${LISTEN:-$TARGET_ADDR}" \
		--export "disk0,file=$1" "${@:2}"
}

# same_as_file FILE DATA: both files have the same contents
same_as_file() {
	cmp "$1" "$2" || fail "$1 differs from what was written"
}

# The log of durable.py; a case may set another path
: "${DURABLE_LOG:=/dev/shm/log}"

# durable_fsyncs N; durable_writes N: whether N of them have returned
durable_fsyncs() {
	(($(grep -c '^F' "$DURABLE_LOG" || :) >= $1))
}

durable_writes() {
	(($(grep -c '^W' "$DURABLE_LOG" || :) >= $1))
}

# durable_write BYTES FSYNCS [WRITERS [EVERY]]: connects, and starts $WRITER; returns when
# FSYNCS fsyncs have returned. Their promises are in $DURABLE_LOG
durable_write() {
	connect --dev-loss-tmo off
	: >"$DURABLE_LOG"
	python3 "$DURABLE" write $DEV "$1" "$DURABLE_LOG" "${@:3}" &
	# shellcheck disable=SC2034 # for the cases
	WRITER=$!
	wait_until "$PATIENCE" durable_fsyncs "$2" ||
		fail "no fsyncs: $(tail -n 3 "$DURABLE_LOG")"
}
