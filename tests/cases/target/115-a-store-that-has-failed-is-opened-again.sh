#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# smp: 2
#
# After a failed fdatasync no flush of the store succeeds until the store is opened again, by
# the administrator or by the next daemon. Acknowledged but unflushed data may be lost by then,
# and the disk fails and says so. A disk that had flushed everything goes on, and so does every
# disk whose daemon was killed without such a failure.

# shellcheck source=tests/cases/store/lib.sh
source "$RDMABLK_TOP/tests/cases/store/lib.sh"
require jq python3

export RDMABLKD=$RDMABLK_TOP/build/peers/faults/rdmablkd
RULES=/tmp/rules LOST_DATA='store has lost its contents' STATE=/run/state

serve() {
	serve_file "$DISK/disk0,fault=$RULES" --state-dir $STATE
}

# of KEY: prints a value of the export
of() {
	"$RDMABLK" target list --json | jq -r ".exports[0].$1"
}

synced_write() {
	dd if=/dev/urandom of=$DEV bs=4k count=4 conv=fsync status=none
}

# a_flush_fails: a flush fails, and the written data stays unflushed
a_flush_fails() {
	echo 'sync error EIO count 1' >$RULES
	run_expect 1 'Input/output error' synced_write
	rm $RULES
	run_expect 1 'Input/output error' synced_write
	expect true "$(status unflushed)" "unflushed"
	expect true "$(of failed)" "whether the export has failed"
}

# loss_is_told: the disk fails until the loss is accepted
loss_is_told() {
	expect_failed "$LOST_DATA"
	run_expect 1 'Link has been severed' dd if=$DEV of=/dev/null bs=4k count=1 \
		iflag=direct
	"$RDMABLK" reconnect --accept-data-loss --wait "$PATIENCE" rdmablk0
	synced_write
	expect false "$(status unflushed)" "unflushed after an fsync"
}

load_module
ram_disk 64
file_system
truncate -s 8M $DISK/disk0
serve
connect
synced_write
for what in list sessions; do
	"$RDMABLK" target $what --json >/tmp/$what.json
	answer_keep target /tmp/$what.json
done

# Nothing has failed: the disk goes on, with and without unflushed data.
first=$(of epoch)
stop_target KILL
serve
wait_state live
expect "$first" "$(of epoch)" "the epoch after a kill"
dd if=/dev/urandom of=$DEV bs=4k count=4 oflag=direct status=none
expect true "$(status unflushed)" "unflushed"
stop_target KILL
serve
wait_state live
expect "$first" "$(of epoch)" "the epoch after another kill"
synced_write

# The administrator reopens the store.
a_flush_fails
(($(of errors) >= 2)) || fail "no error is counted"
run_expect 4 'export disk0 is in use by 1 session' "$RDMABLK" target reopen disk0
expect "$first" "$(of epoch)" "the epoch of a store that is open"
"$RDMABLK" target reopen --force disk0
expect false "$(of failed)" "whether the export has failed"
second=$(of epoch)
[[ $second != "$first" ]] || fail "the store has failed and not its epoch"
loss_is_told

# The next daemon opens the store again, and the one after that, too.
a_flush_fails
stop_target KILL
serve
third=$(of epoch)
[[ $third != "$second" && $third != "$first" ]] ||
	fail "the next daemon does not know that the store has failed"
loss_is_told
stop_target
serve
wait_state live
expect "$third" "$(of epoch)" "the epoch after a stop"

# A disk without unflushed data goes on, even if another disk has lost data: a line is added to
# the daemon's notes of losses.
stop_target KILL
printf '\n%s %032x\n' "$(awk 'NF { print $1; exit }' $STATE/losses)" 1 >>$STATE/losses
serve
wait_state live
[[ $(of epoch) != "$third" ]] || fail "the epoch does not tell of another loss"
synced_write
dmesg_has 'the store has started again; all that was written had been flushed' ||
	fail "the kernel log does not say that nothing was lost"

# Removing and adding the export does not hide the failure.
a_flush_fails
"$RDMABLK" target remove --force disk0
"$RDMABLK" target add "disk0,file=$DISK/disk0"
loss_is_told
disconnect
stop_target
unload_module
