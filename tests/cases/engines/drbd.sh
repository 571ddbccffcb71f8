# shellcheck shell=bash disable=SC2016
# SPDX-License-Identifier: GPL-2.0-or-later
#
# For the cases of engines whose pair has DRBD, by Documentation/recipes/ha-drbd.rst.
#
#	pair_up			both are set up, one serves, and the disk is connected

# shellcheck source=tests/cases/engines/lib.sh
source "$RDMABLK_TOP/tests/cases/engines/lib.sh"

# shellcheck disable=SC2034 # for lib.sh
PAGE=$RDMABLK_TOP/Documentation/recipes/ha-drbd.rst HERE=(-e 's,/dev/vg0/ha,/dev/vda,')

# drbd_is WHAT REGEX: cstate, role, dstate
drbd_is() {
	[[ $(drbdadm "$1" ha 2>&1) =~ ^($2)$ ]]
}

# expect_drbd WHAT REGEX
expect_drbd() {
	wait_until $PATIENCE drbd_is "$1" "$2" ||
		fail "$1 is $(drbdadm "$1" ha), not $2: $(</proc/drbd)"
}

copied() {
	expect_drbd cstate Connected
	expect_drbd dstate 'UpToDate/UpToDate'
}

machine_up() {
	modprobe -q drbd || skip "no module drbd"
	machine_begin
	mkdir -p /run/drbd /var/lib/drbd
	page '``/etc/drbd.d/ha.res``' >/etc/drbd.d/ha.res
}

machine_again() {
	follow 'after each boot'
	expect_drbd role 'Secondary/.*'
}

# promoted: makes this machine primary. DRBD believes for some seconds that the other machine is
# alive
promoted() {
	drbdadm primary ha 2>/tmp/promote
}

take_over() {
	wait_until $PATIENCE promoted || fail "not primary: $(</tmp/promote)"
	follow 'takes over'
}

give_up() {
	follow 'On the machine that gives up'
}

# --- machine two -----------------------------------------------------------------------------

pair_up() {
	pair_begin
	ask follow "'once, as root'"
	ask follow "'after each boot'"
	follow 'once, as root'
	follow 'after each boot'
	ask follow "'On \`\`one\`\`, once'"
	copied
	follow 'On the host'
	expect 'write through' "$(<$QUEUE/write_cache)" "the cache of the disk"
}
