#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Documentation/recipes/virtual-machine.rst: a guest of QEMU, see guest.c, writes and flushes blocks
# one after the other. The target is lost, and the guest waits; with --fast-io-fail-tmo it is
# stopped, and continued later. The disk grows. Nothing fails in the guest, and its blocks are on
# the disk. libvirt does not run here.
#
# kernels: 6.12
# mem: 1024
# timeout: 600

# shellcheck source=tests/cases/recipes/lib.sh
source "$RDMABLK_TOP/tests/cases/recipes/lib.sh"
require qemu-system-x86_64 gcc python3

BLOCK=4096 FILE=/srv/1/vm0
STOPPING=virtio-blk-pci,drive=d0,werror=stop,rerror=stop QMP_ID=0

# --- the guest --------------------------------------------------------------------------

guest_build() {
	gcc -m32 -O1 -ffreestanding -fno-pie -fno-stack-protector -mno-sse -no-pie -static \
		-nostdlib -Wl,-Ttext=0x100000,--build-id=none -o /tmp/guest "$CASES/recipes/guest.c"
}

# What the page leaves to the reader: the rest of the machine
qemu-system-x86_64() {
	command qemu-system-x86_64 "$@" -kernel /tmp/guest -display none -vga none -nic none \
		-monitor none -no-reboot -serial stdio \
		-chardev pipe,id=qmp,path=/tmp/qmp -mon qmp,mode=control \
		</tmp/keys >/tmp/console 2>/tmp/qemu &
	QEMU=$!
}

guest_lives() {
	kill -0 "$QEMU" 2>/dev/null
}

guest_over() {
	! guest_lives
}

guest_end() {
	cp /tmp/console /tmp/qemu /tmp/qmp.log /run/vm
	! guest_lives || kill -KILL "$QEMU"
}

guest_failures() {
	grep '^failed' /tmp/console || :
}

# wrote: prints the number of the last block that the guest has written, 0 before the first
wrote() {
	{ echo 0; sed -nE 's/^wrote ([0-9]+) of .*/\1/p' /tmp/console; } | tail -n 1
}

wrote_more() {
	! guest_lives || (($(wrote) >= $1))
}

# guest_progress: waits until the guest has written some more blocks
guest_progress() {
	wait_until "$PATIENCE" wrote_more $(($(wrote) + 10)) ||
		fail "the guest hangs: $(tail /tmp/console)"
	guest_lives || fail "the guest has ended: $(tail /tmp/console /tmp/qemu)"
	expect '' "$(guest_failures)" "what has failed in the guest"
}

guest_waits() {
	local n

	n=$(wrote)
	file_has "$n"
	n=$(last_block "$n")
	pause 3
	(($(wrote) <= n)) || fail "the guest goes on to $(wrote), without a target"
	expect '' "$(guest_failures)" "what has failed in the guest"
}

# guest_sees SECTORS: whether the guest has seen its disk with this size
guest_sees() {
	grep -q "^wrote [0-9]* of $1\$" /tmp/console
}

# --- its blocks -------------------------------------------------------------------------

# block_is N FILE
block_is() {
	[[ $(dd if="$2" bs=$BLOCK skip="$1" count=1 status=none | tr -d ' \0') == "$1" ]]
}

# file_has N: fails without block N in the target's file
file_has() {
	block_is "$1" $FILE || fail "block $1 is not in the file"
}

# last_block N: prints the last block that the file has, which is N or follows N. The target must
# not run.
last_block() {
	local n=$1

	while block_is $((n + 1)) $FILE; do
		((++n))
	done
	echo "$n"
}

# sum_of_blocks N
sum_of_blocks() {
	local i

	for ((i = 1; i <= $1; i++)); do
		printf "%${BLOCK}d" "$i"
	done | sha256sum
}

# --- QMP --------------------------------------------------------------------------------

# qmp COMMAND [ARGUMENTS]: both in JSON; returns when QEMU has answered
qmp() {
	echo "{\"execute\": \"$1\", \"arguments\": ${2:-{\}}, \"id\": $((++QMP_ID))}" >&"$qmp"
	wait_until "$PATIENCE" qmp_answer "^{\"return\"" || fail "$1: $(tail -n 3 /tmp/qmp.log)"
}

# qmp_answer REGEX: whether there is an answer to the last command, which matches
qmp_answer() {
	grep "\"id\": $QMP_ID}" /tmp/qmp.log | grep -q "$1"
}

qmp_status() {
	qmp query-status
	qmp_answer "\"status\": \"$1\""
}

wait_status() {
	wait_until "$PATIENCE" qmp_status "$1" || fail "not $1: $(tail -n 3 /tmp/qmp.log)"
}

# --- the page ---------------------------------------------------------------------------

# No udev runs here: block/010 tests the links.
ls() {
	[[ $* == '/dev/disk/by-id/rdmablk-*' ]] || fail "ls $*"
}

# libvirt_asks: the XML of the page asks for what QEMU's command asks for
libvirt_asks() {
	commands_of "$PAGE" 'With libvirt' | python3 -c '
import sys
from xml.etree import ElementTree

disk = ElementTree.parse(sys.stdin).getroot()
assert disk.tag == "disk" and disk.get("type") == "block", disk.attrib
driver = disk.find("driver").attrib
for key, value in (("type", "raw"), ("cache", "none"), ("io", "native"), ("discard", "unmap")):
    assert driver[key] == value, driver
assert disk.find("source").get("dev").startswith("/dev/disk/by-id/rdmablk-")
assert disk.find("target").get("bus") == "virtio"'
	FOLLOWED+=('With libvirt')
}

guest_build
: >/tmp/console
mkfifo /tmp/keys /tmp/qmp.in /tmp/qmp.out
exec {keys}<>/tmp/keys {qmp}<>/tmp/qmp.in
cat /tmp/qmp.out >/tmp/qmp.log &
machines 1 128
target_start 1
truncate -s 48M $FILE
rdmablk target add vm0,file=$FILE
rdmablk target save
load_module
recipe virtual-machine 's/-accel kvm/-accel tcg/' 's/-m 4G/-m 256M/' \
	"s/virtio-blk-pci,drive=d0\$/$STOPPING/"
grep -q -- "-device $STOPPING" "$PAGE" || fail "the page lacks $STOPPING"
libvirt_asks
follow 'On the host::'
follow 'With QEMU'
cleanup_add guest_end
qmp qmp_capabilities
wait_until "$PATIENCE" wrote_more 1 ||
	fail "the guest does not start: $(tail /tmp/console /tmp/qemu)"

# What the guest has written and flushed is in the export.
flushes=$(status flushes) n=$(wrote)
guest_progress
n=$(($(wrote) - n)) flushes=$(($(status flushes) - flushes))
((flushes >= n - 1)) || fail "$flushes flushes for $n of the guest"
file_has "$(wrote)"

# The guest waits for its target.
stop_target KILL
wait_state recovering
guest_waits
target_start 1
wait_live 0
guest_progress
wait_status running

# An error stops the guest, which is continued.
rdmablk set rdmablk0 --fast-io-fail-tmo 1
stop_target KILL
wait_until "$PATIENCE" fails_io 0 || fail "the disk does not fail its I/O"
wait_status io-error
guest_waits
target_start 1
wait_live 0
wait_status io-error
qmp cont
wait_status running
guest_progress

# The guest sees its disk grow when QEMU is told.
truncate -s 64M $FILE
rdmablk target resize vm0 >/dev/null
larger() {
	(($(blockdev --getsize64 $DEV) == 64 << 20))
}
wait_until "$PATIENCE" larger || fail "the disk does not grow"
guest_progress
! guest_sees 131072 || fail "the guest sees the new size by itself"
qmp block_resize '{"node-name": "d0", "size": 67108864}'
wait_until "$PATIENCE" guest_sees 131072 || fail "the guest does not see the new size"

echo stop >&"$keys"
wait_until "$PATIENCE" guest_over || fail "the guest does not end: $(tail /tmp/console)"
wait "$QEMU" || fail "QEMU: status $?, $(</tmp/qemu)"
n=$(wrote)
expect '' "$(guest_failures)" "what has failed in the guest"
grep -q "^good $n\$" /tmp/console || fail "the guest has found: $(tail /tmp/console)"
(($(status discards) > 0)) || fail "the guest's discard has not come"
expect "$(sum_of_blocks "$n")" \
	"$(dd if=$DEV bs=$BLOCK skip=1 count="$n" iflag=direct status=none | sha256sum)" "the blocks"
rdmablk disconnect rdmablk0
stop_target
expect "$(sum_of_blocks "$n")" \
	"$(dd if=$FILE bs=$BLOCK skip=1 count="$n" status=none | sha256sum)" "the blocks in the file"
unload_module
recipe_end
