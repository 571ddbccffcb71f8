#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Documentation/recipes/ocfs2.rst: two hosts have one OCFS2 mounted, on a shared export. Each
# sees what the other writes. The daemon is killed while one host writes: both go on, and the
# other host has all that fsync has promised. At the end the file system is clean. The target's
# machine is also the second host.
#
# kernels: 6.12
# net: two
# timeout: 600

# shellcheck source=tests/cases/recipes/lib.sh
source "$RDMABLK_TOP/tests/cases/recipes/lib.sh"
require o2cb mkfs.ocfs2 fsck.ocfs2

SIZE=$((2 << 20))

# By the script of the package: systemd does not run here.
systemctl() {
	[[ $* == 'restart o2cb' ]] || fail "systemctl $*"
	/etc/init.d/o2cb start >/tmp/o2cb 2>&1 || fail "o2cb: $(</tmp/o2cb)"
	expect 301 "$(</sys/kernel/config/cluster/rdmablk/heartbeat/dead_threshold)" \
		"the threshold"
}

# is_there FILE SUM: as the other host has written it
is_there() {
	expect "$2" "$(sha256sum <"$1")" "the sum of $1, which the other host has written"
}

mount_it() {
	follow 'then and at each boot'
}

target() {
	machines 2 256
	target_start 2
	follow 'On the target'
	load_module
	follow 'here web1 and web2'
	peer_set served
	peer_wait made "$PATIENCE"
	mount_it
	is_there /data/first "$(peer_wait first "$PATIENCE")"
	random_file 1M /data/second
	sha256sum </data/second >/run/vm/sum
	peer_set second "$(</run/vm/sum)"
	peer_wait durable "$PATIENCE"
	stop_target KILL
	wait_state recovering
	target_start 2
	wait_live 0
	peer_set back
	peer_wait stopped "$PATIENCE"
	cp /run/vm/durable /dev/shm/durable
	DURABLE_BYTES=$SIZE
	durable_in /data/durable
	umount /data
	peer_set unmounted
	peer_wait disconnected "$PATIENCE"
	run_expect 0 '' fsck.ocfs2 -fn $DEV
	still_live
	disconnect
	unload_module
	stop_target
	peer_set over
}

initiator() {
	peer_wait served "$PATIENCE"
	load_module
	follow 'here web1 and web2'
	follow 'On one of them'
	mount_it
	random_file 1M /data/first
	peer_set first "$(sha256sum </data/first)"
	peer_set made
	is_there /data/second "$(peer_wait second "$PATIENCE")"
	dd if=/dev/zero of=/data/durable bs=1M count=$((SIZE >> 20)) conv=fsync status=none
	durable_start /data/durable $SIZE
	peer_set durable
	peer_wait back "$PATIENCE"
	wait_live 0
	durable_progress
	durable_stop
	cp /dev/shm/durable /run/vm/durable
	peer_set stopped
	peer_wait unmounted "$PATIENCE"
	umount /data
	still_live
	disconnect
	unload_module
	peer_set disconnected
	peer_wait over "$PATIENCE"
	# What only the target does
	FOLLOWED+=('On the target')
	recipe_end
}

needs_module ocfs2 ocfs2_stack_o2cb
recipe ocfs2 s/500G/192M/ 's,10\.99\.0\.1/shared0,10.99.0.2/shared0,' \
	's/10\.99\.0\.11/10.99.0.1/; s/10\.99\.0\.12/10.99.0.2/' \
	"s/ web1\$/ initiator/; s/ web2\$/ target/"
"$ROLE"
