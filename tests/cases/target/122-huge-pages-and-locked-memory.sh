#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Anonymous exports are in huge pages when the host has enough free ones, exactly as many as
# they need, and the daemon says which pages it uses; without any it says that, too. An export
# that insists on missing huge pages is refused. A huge page that another export has left is all
# zeroes. With too small a limit of locked memory the daemon warns, and logins are refused for
# that reason; a larger limit is enough to mend that.
#
# in-turn: yes

# shellcheck source=tests/cases/target/lib.sh
source "$RDMABLK_TOP/tests/cases/target/lib.sh"

# huge_pages N: gives the host N huge pages of 2 MiB
huge_pages() {
	echo "$1" >/proc/sys/vm/nr_hugepages
	expect "$1" "$(</proc/sys/vm/nr_hugepages)" "the number of huge pages"
}

# expect_free N: N of them are free
expect_free() {
	expect "$1" "$(awk '/^HugePages_Free/ { print $2 }' /proc/meminfo)" \
		"the number of free huge pages"
}

start() {
	start_target --insecure --listen "$TARGET_ADDR" "$@"
}

# no_start TEXT EXPORT
no_start() {
	run_expect 1 "$1" timeout "$PATIENCE" "$RDMABLKD" --insecure \
		--listen "$TARGET_ADDR" --export "$2"
}

# fill N; check N FILE: writes a disk; compares all of it
fill() {
	dd if=/tmp/pattern of="/dev/rdmablk$1" bs=1M oflag=direct status=none
}

check() {
	dd if="/dev/rdmablk$1" bs=1M iflag=direct status=none |
		cmp -n "$(blockdev --getsize64 "/dev/rdmablk$1")" - "$2" ||
		fail "the contents of rdmablk$1"
}

random_file 5M /tmp/pattern
load_module

# The host has no huge pages.
huge_pages 0
no_start 'export a: no memory for 5242880 bytes' a,memory,size=5M,hugepages=2M
no_start 'export a: no memory for 5242880 bytes' a,memory,size=5M,hugepages=1G
start --export a,memory,size=5M --export b,memory,size=5M,hugepages=no
expect_log 'export a: 5242880 bytes in base pages; the host has no huge pages free$'
expect_log 'export b: 5242880 bytes in base pages$'
disk 0 "$TARGET_ADDR/a"
fill 0
check 0 /tmp/pattern
disconnect_all
stop_target

# 5 MiB take three huge pages, and the last one is not full. The host has enough for two
# exports; a third one gets base pages.
huge_pages 6
start --export a,memory,size=5M --export b,memory,size=5M,hugepages=2M \
	--export c,memory,size=5M --export d,memory,size=5M,hugepages=no
expect_log 'export a: 5242880 bytes in 2 MiB pages$'
expect_log 'export b: 5242880 bytes in 2 MiB pages$'
expect_log 'export c: 5242880 bytes in base pages; the host has no huge pages free$'
expect_log 'export d: 5242880 bytes in base pages$'
expect_free 0
for n in 0 1 2; do
	export=(a b c)
	disk $n "$TARGET_ADDR/${export[n]}"
	fill $n
done
for n in 0 1 2; do
	check $n /tmp/pattern
done
disconnect_all
stop_target
expect_free 6

# The host has only these huge pages, so the next export gets them, and they must be zeroes.
start --export e,memory,size=12M,hugepages=2M
expect_free 0
disk 0 "$TARGET_ADDR/e"
check 0 /dev/zero
disconnect_all
stop_target KILL
wait_until "$PATIENCE" expect_free 6
huge_pages 0

# The limit of locked memory applies only without CAP_IPC_LOCK.
cat >/run/limited <<-WORDS
	#!/bin/bash
	ulimit -l "\$LIMIT_KIB"
	exec setpriv --bounding-set=-ipc_lock "$RDMABLKD" "\$@"
WORDS
chmod +x /run/limited
RDMABLKD=/run/limited
export LIMIT_KIB=1024
truncate -s 3M /tmp/file{1,2}
start --export a,memory,size=5M --export f,file=/tmp/file1,cache=full \
	--export g,file=/tmp/file2,slot-memory=2M,slot-bytes=64K
for words in a:5242880 f:3145728 g:2359296; do
	expect_log "export ${words%:*}: RLIMIT_MEMLOCK is 1048576 bytes, too few for a session to register ${words#*:}"
done
refused 'target is out of memory' "$TARGET_ADDR/a"
expect_log 'export a: cannot register 5242880 bytes: .* .RLIMIT_MEMLOCK too small'
stop_target
LIMIT_KIB=8192
start --export a,memory,size=5M
disk 0 "$TARGET_ADDR/a"
fill 0
check 0 /tmp/pattern
disconnect_all
unload_module
stop_target
run_expect 1 '' grep RLIMIT_MEMLOCK "$TARGET_LOG"
