#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Connected and disconnected fifty times: no RDMA object, no slab or vmalloc memory,
# no module reference stays behind, and the daemon has as many descriptors and as
# much memory as before.
#
# timeout: 180

# shellcheck source=tests/cases/data/lib.sh
source "$RDMABLK_TOP/tests/cases/data/lib.sh"

# What one lost session would cost fifty times: a tag set alone has half a MiB.
ALLOWED_KIB=4096

# kernel_kib: memory that leaks of a driver show in
kernel_kib() {
	echo 1 >/proc/sys/vm/drop_caches
	awk '/^(SUnreclaim|VmallocUsed|Percpu):/ { sum += $2 } END { print sum }' /proc/meminfo
}

daemon_fds() {
	find "/proc/$TARGET_PID/fd" -mindepth 1 | wc -l
}

daemon_kib() {
	awk '/^RssAnon:/ { print $2 }' "/proc/$TARGET_PID/status"
}

rounds() {
	local i

	for ((i = 0; i < $1; i++)); do
		connect
		dd if="$DEV" of=/dev/null bs=64k count=4 iflag=direct status=none
		disconnect
	done
	leak_check 30
}

serve 4M
leak_snapshot
load_module
rounds 5
kernel=$(kernel_kib) fds=$(daemon_fds) rss=$(daemon_kib)
rounds 45
(($(kernel_kib) <= kernel + ALLOWED_KIB)) ||
	fail "kernel memory grew from $kernel to $(kernel_kib) KiB"
expect "$fds" "$(daemon_fds)" "the daemon's number of descriptors"
(($(daemon_kib) <= rss + ALLOWED_KIB)) ||
	fail "the daemon grew from $rss to $(daemon_kib) KiB"
expect 0 "$(</sys/module/rdmablk/refcnt)" "the module's reference count"

# Open, the module stays; closed, it goes.
connect
exec {fd}<"$DEV"
expect 1 "$(</sys/module/rdmablk/refcnt)" "the module's reference count"
run_expect 1 'in use' rmmod rdmablk
run_expect 1 'in use' "$RDMABLK" disconnect rdmablk0
exec {fd}<&-
unload_module
leak_check
stop_target
expect 0 "$TARGET_STATUS" "the daemon's exit status"
