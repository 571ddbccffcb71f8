#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Documentation/recipes/ha-gluster.rst: three machines with one brick each of a Gluster volume,
# a daemon on either of two machines, and a floating address. A brick is killed and comes back.
# The serving daemon is killed again and again, and its machine loses its power. At last the
# daemon is stopped (SIGSTOP) and its machine cut off while the other machine takes over by the
# lock of the file; then the stopped daemon goes on. No request fails, no acknowledged data is
# lost, and the stopped daemon changes no byte on any brick. The argument is how many times the
# daemon is killed on each machine; 1 by default.
#
# The page's times are long enough for emulated machines: a brick that does not answer for 20 s
# counts as gone (network.ping-timeout), and so does a client (server.tcp-user-timeout).
#
# kernels: 6.12
# net: two
# mem: 1536
# disk: 192M
# timeout: 2400

# shellcheck source=tests/cases/engines/gluster.sh
source "$RDMABLK_TOP/tests/cases/engines/gluster.sh"
require glusterd mount.glusterfs mkfs.ext4
# shellcheck source=tests/cases/engines/load.sh
source "$RDMABLK_TOP/tests/cases/engines/load.sh"

ROUNDS=${1:-1}

# brick_killed: the brick of machine three is killed and comes back. The daemon opens its file
# on that brick only when the daemon is started again.
brick_killed() {
	local began

	began=$(now)
	brick_kill three
	history_progress 1
	echo "a brick was killed: $(($(now) - began)) ms"
	history_progress
	follow 'process of a brick has ended'
	wait_until $PATIENCE not_healed || fail "the brick is not back: $(</tmp/heal)"
	history_progress
	not_healed || fail "the brick gets what is written: $(</tmp/heal)"
	began=$(now)
	ask follow "'restart it on the machine'"
	gone_on "the daemon was started again" "$began"
	copied
}

# same_bricks: all bricks have the same contents, and the history allows them
same_bricks() {
	local sum

	sum=$(brick_sum /bricks)
	expect "$sum" "$(brick_sum $THREE)" "what three has"
	ask expect "'$sum'" "\"\$(brick_sum /bricks)\"" "'what one has'"
	history_check /bricks/ha/disk0.img
}

# stopped: a stopped daemon keeps its lock until the bricks know that its machine is gone
stopped() {
	local began before

	refused
	began=$(now)
	ask stop_daemon
	refused
	cut_off
	take_over
	gone_on "the daemon of one is stopped, and one is cut off" "$began"
	legal
	before=$(brick_sum /bricks)
	host_do link target on
	ask wait_until $PATIENCE bricks_connected
	ask daemon_write EBADFD
	ask continue_daemon
	expect "$before" "$(brick_sum /bricks)" "what two has, since the daemon of one goes on"
	history_check $DEV
	ask give_up
	copied
	same_bricks
	load
}

two() {
	local n

	volume_up
	load
	brick_killed
	for ((n = 0; n < ROUNDS; n++)); do
		killed_on_one
		killed_on_two
	done
	powered_off
	killed_on_two
	stopped
	killed_on_two
	legal
	same_bricks
	pair_down
}

if [[ $ROLE == initiator ]]; then
	two
else
	machine_obeys
fi
