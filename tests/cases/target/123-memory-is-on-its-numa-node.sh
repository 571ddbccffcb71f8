#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# All memory of an export is on its configured NUMA node, of any kind: anonymous or kept, base
# or huge pages, memory added when a file grows, and memory that was on another node before.
# Without a configured node that is not so: then memory is on the node of the adapter, and where
# no adapter has a node the daemon does and says nothing. A node that is missing, or has too
# little memory, is an error that names it, at the start and later; existing memory stays where
# it is.
#
# The processors are on node 0, so memory without a chosen node is there.
#
# numa: 2
# in-turn: yes

# shellcheck source=tests/cases/target/lib.sh
source "$RDMABLK_TOP/tests/cases/target/lib.sh"
require jq

NODES=/sys/devices/system/node
KEPT=/dev/shm/kept HUGE=/run/huge/kept FILE=/tmp/file

target() {
	"$RDMABLK" target "$@"
}

start() {
	start_target --insecure --listen "$TARGET_ADDR" --state-dir /run/state "$@"
}

# no_start TEXT EXPORT
no_start() {
	run_expect 1 "^rdmablkd: export .*$1" timeout "$PATIENCE" "$RDMABLKD" --insecure \
		--listen "$TARGET_ADDR" --control /run/other --state-dir /run/state \
		--export "$2"
}

# pages REGEX NODE: prints the number of pages on a node, of the daemon's mappings that match
pages() {
	awk -v re="$1" -v node="N$2=" '$0 ~ re {
		for (i = 1; i <= NF; i++)
			if (index($i, node) == 1)
				n += substr($i, length(node) + 1)
	} END { print n + 0 }' "/proc/$TARGET_PID/numa_maps"
}

# expect_pages REGEX ON-NODE-0 ON-NODE-1
expect_pages() {
	expect "$2 $3" "$(pages "$1" 0) $(pages "$1" 1)" "the pages of '$1' on nodes 0 and 1"
}

# expect_nodes JSON: the daemon shows these nodes for its exports
expect_nodes() {
	expect "$1" "$(target list --json | jq -c '[.exports[].numa]')" "the nodes"
}

# huge_pages NODE N
huge_pages() {
	local file=$NODES/node$1/hugepages/hugepages-2048kB/nr_hugepages

	echo "$2" >"$file"
	expect "$2" "$(<"$file")" "the huge pages of node $1"
}

[[ $KERNEL_SERIES != debug || -e $NODES/has_memory ]] || skip "a kernel without NUMA"
expect 0-1 "$(<$NODES/has_memory)" "the nodes of this guest"
mkdir /run/huge
mount -t hugetlbfs none /run/huge
random_file 4M /tmp/pattern
truncate -s 4M $FILE

# No node is configured, and no adapter has a node.
start --export a,memory,size=4M,hugepages=no --export "kept,memory,size=72M,arena=$KEPT" \
	--export b,memory,size=4M,hugepages=no,numa=none
expect_pages memfd:a 1024 0
expect_pages memfd:b 1024 0
expect_pages $KEPT 18433 0
expect_nodes '[null,null,null]'
run_expect 1 '' grep -i numa "$TARGET_LOG"
load_module
disk 0 "$TARGET_ADDR/kept"
dd if=/tmp/pattern of=/dev/rdmablk0 bs=1M oflag=direct status=none
disconnect_all
stop_target

# A node is configured. Pages on the other node are moved, in two steps.
huge_pages 0 8
huge_pages 1 6
start --export a,memory,size=4M,hugepages=no,numa=1 \
	--export "kept,memory,size=72M,arena=$KEPT,numa=1" \
	--export large,memory,size=4M,hugepages=2M,numa=1 \
	--export "huge,memory,size=4M,arena=$HUGE,numa=1" \
	--export "full,file=$FILE,cache=full,hugepages=no,numa=1" \
	--export "none,file=/tmp/pattern,numa=1,slot-memory=1M"
for name in memfd:a memfd:full; do
	expect_pages "$name" 0 1024
done
expect_pages $KEPT 0 18433
# The arena's trailer is locked in memory, so it is a mapping of its own.
expect 2 "$(grep -c $KEPT "/proc/$TARGET_PID/numa_maps")" "the mappings of an arena that was moved"
expect_pages memfd:large 0 2
expect_pages $HUGE 0 3
expect_nodes '[1,1,1,1,1,1]'
cmp -n $((4 << 20)) /tmp/pattern $KEPT || fail "the contents of the arena that was moved"
truncate -s 6M $FILE
expect $((6 << 20)) "$(target resize full)" "the new size"
expect_pages memfd:full 0 1536
# Pages that are swapped out may come back anywhere.
expect_pages ' bind:' 0 0
others=$(pages ' prefer:1 ' 1)
disk 0 "$TARGET_ADDR/none"
expect 0 "$(pages ' prefer:1 ' 0)" "slots on the wrong node"
(($(pages ' prefer:1 ' 1) >= others + 256)) || fail "no slots on node 1"
disconnect_all

# What there is not
no_start 'numa = 7: no NUMA node with memory has this number; there are 0-1' \
	x,memory,size=1M,numa=7
run_expect failed 'numa = 2: no NUMA node .* there are 0-1' target add x,memory,size=1M,numa=2
run_expect failed 'numa = near: neither auto, none nor the number of a NUMA node' \
	target add x,memory,size=1M,numa=near
no_start 'no memory for 4194304 bytes on NUMA node 1' \
	x,memory,size=4M,hugepages=2M,numa=1
free=$(awk '/MemFree/ { print $4 }' $NODES/node1/meminfo)
echo $((6 + free / 2048 - 16)) >$NODES/node1/hugepages/hugepages-2048kB/nr_hugepages
no_start 'no memory for 134217728 bytes on NUMA node 1' \
	x,memory,size=128M,hugepages=no,numa=1
no_start "no room for 134221824 bytes on NUMA node 1" \
	x,memory,size=128M,arena=/dev/shm/other,numa=1
mkdir /tmp/cgroup
mount -t cgroup2 none /tmp/cgroup
echo +cpuset >/tmp/cgroup/cgroup.subtree_control
mkdir /tmp/cgroup/node0
echo 0 >/tmp/cgroup/node0/cpuset.mems
cat >/tmp/elsewhere <<-WORDS
	#!/bin/bash
	echo \$\$ >/tmp/cgroup/node0/cgroup.procs
	exec $RDMABLKD "\$@"
WORDS
chmod +x /tmp/elsewhere
RDMABLKD=/tmp/elsewhere no_start 'not all of its memory can be on NUMA node 1: Invalid' \
	x,memory,size=1M,hugepages=no,numa=1
target_lives || fail "the daemon was killed for the memory of another"
expect_nodes '[1,1,1,1,1,1]'
huge_pages 1 6
stop_target
huge_pages 0 0

# That of the adapter, as far as it has room
mkdir /tmp/dummy
echo 1 >/tmp/dummy/numa_node
mount --bind /tmp/dummy "$(realpath /sys/class/net/dummy0)"
rm $KEPT
start --export a,memory,size=4M,hugepages=no --export "kept,memory,size=4M,arena=$KEPT" \
	--export zero,memory,size=4M,hugepages=no,numa=0 \
	--export b,memory,size=4M,hugepages=no,numa=none
expect_log 'export a: its memory is to be on NUMA node 1, as the adapter is'
expect_log 'export zero: its memory is to be on NUMA node 0$'
expect_pages memfd:a 0 1024
expect_pages $KEPT 0 1025
expect_pages memfd:zero 1024 0
expect_pages memfd:b 1024 0
expect_nodes '[1,1,0,null]'
stop_target
unload_module
