#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# 'rdmablk up' connects the disks of rdmablk.conf with the options of their sections: also when
# the target starts later, when the disk is there already, and when the disk is reconnecting. A
# file with a mistake changes nothing. 'down' removes a disk that is not in use, that stops
# being used a moment later, or that is in an outage, and succeeds if the disk is not there.
# After 'shutdown' a file system whose target is lost for good can be unmounted. The generator
# wants the disks with auto = yes.
#
# quick: yes
# in-turn: yes

# shellcheck source=tests/cases/control/lib.sh
source "$RDMABLK_TOP/tests/cases/control/lib.sh"
require mkfs.ext4

CONF=/etc/rdmablk/rdmablk.conf
mkdir -p ${CONF%/*}

# conf LINE...: the file, with the disks data and other
conf() {
	cat >$CONF <<-EOF
	[disk data]
	export = $TARGET_ADDR/disk0
	auto = yes
	queues = 1
	dev-loss-tmo = off
	keep-alive-tmo = 2
	connect-tmo = 2
	[disk other]
	export = $TARGET_ADDR/other
	read-only = yes
	$(printf '%s\n' "$@")
	EOF
}

# fails STATUS REGEX COMMAND...
fails() {
	run_expect "$1" "^rdmablk: $2\$" "$RDMABLK" "${@:3}"
}

up_in_background() {
	"$RDMABLK" up "$@" >/tmp/up 2>&1 &
	UP=$!
}

up_said() {
	grep -qE "$1" /tmp/up
}

# up_succeeds TEXT
up_succeeds() {
	wait $UP || fail "up: status $?: $(</tmp/up)"
	grep -qxF "$1" /tmp/up || fail "up says '$(</tmp/up)', not '$1'"
}

# The target is not there yet.
conf
fails 8 'up data: the kernel module rdmablk is not loaded .*' up data
load_module
up_in_background data
wait_until "$PATIENCE" up_said '^rdmablk: up data: warning: .*; trying again' ||
	fail "up does not say that it waits: $(</tmp/up)"
serve 16M --export other,memory,size=8M
up_succeeds $DEV
for want in queues:1 dev_loss_tmo:-1 keep_alive_tmo:2 connect_tmo:2; do
	expect "${want#*:}" "$(status "${want%:*}")" "${want%:*}"
done

# The disk is there already, and gets the options of its section back; another one is added; a
# mistake in the file changes nothing.
run_expect 0 "^$DEV\$" "$RDMABLK" up data
run_expect 0 "^/dev/rdmablk1\$" "$RDMABLK" up --all
expect 1 "$(blockdev --getro /dev/rdmablk1)" "whether rdmablk1 is read-only"
"$RDMABLK" set rdmablk0 --dev-loss-tmo 50 --reconnect-delay 1
run_expect 0 "^$DEV\$" "$RDMABLK" up data
expect '-1 1' "$(attribute dev_loss_tmo) $(attribute reconnect_delay)" "dev_loss_tmo, reconnect_delay"
conf 'queues = many'
fails 2 "$CONF:11: queues: 'many' is not a number; 1 to 256" down --all
expect live "$(attribute state 1)" "the state of rdmablk1"
conf
run_expect 0 '^$' "$RDMABLK" down other
[[ ! -e /dev/rdmablk1 ]] || fail "rdmablk1 outlives 'down other'"
run_expect 0 '^$' "$RDMABLK" down other

# An outage.
stop_target KILL
wait_state recovering
fails 4 'up data: rdmablk0 is connected to it, but recovering: .*' up --wait 0 data
up_in_background data
serve 16M
up_succeeds $DEV
still_live

# In use, until it is unmounted.
mkfs.ext4 -q $DEV
mount $DEV /mnt
fails 4 'down data: .* \(--force removes it anyway\)' down data
"$RDMABLK" down --wait "$PATIENCE" data &
down=$!
umount /mnt
wait $down || fail "down: status $?"
[[ ! -e $DEV ]] || fail "$DEV outlives 'down data'"
expect_log 'logged out'

# The target is lost for good, and the file system has something to write.
"$RDMABLK" up --auto
mount $DEV /mnt
dd if=/dev/zero of=/mnt/file bs=64k count=16 status=none
stop_target KILL
wait_state recovering
umount /mnt &
umount=$!
umount_waits() {
	grep -q '^State:.D' /proc/$umount/status
}
umount_is_over() {
	! kill -0 $umount 2>/dev/null
}
wait_until "$PATIENCE" umount_waits || fail "umount does not wait for the target"
"$RDMABLK" shutdown --wait 1
expect 1 "$(attribute fast_io_fail_tmo)" "fast_io_fail_tmo"
wait_until "$PATIENCE" umount_is_over || fail "umount waits for ever"
! mountpoint -q /mnt || fail "the file system is still mounted"
"$RDMABLK" down --wait "$PATIENCE" --all
[[ ! -e $DEV ]] || fail "$DEV outlives 'down' in an outage"
run_expect 0 '^$' "$RDMABLK" down --all
run_expect 0 '^$' "$RDMABLK" shutdown

# The generator.
generate() {
	rm -rf /tmp/units
	mkdir /tmp/units
	/usr/lib/systemd/system-generators/rdmablk-generator \
		/tmp/units /tmp/units /tmp/units 2>/tmp/err
	(cd /tmp/units && find . -type l)
}

make -s -C "$RDMABLK_TOP/tools" install PREFIX=/usr
expect ./remote-fs.target.wants/rdmablk@data.service "$(generate)" "what is wanted"
cmp '/usr/lib/systemd/system/rdmablk@.service' \
	/tmp/units/remote-fs.target.wants/rdmablk@data.service
conf 'auto = maybe'
expect '' "$(generate)" "what is wanted of a bad file"
grep -qx "rdmablk: $CONF:11: auto: 'maybe' is neither yes nor no" /tmp/err ||
	fail "the generator says '$(</tmp/err)'"
rm $CONF
expect '' "$(generate)" "what is wanted without a file"
[[ ! -s /tmp/err ]] || fail "the generator says '$(</tmp/err)' without a file"
