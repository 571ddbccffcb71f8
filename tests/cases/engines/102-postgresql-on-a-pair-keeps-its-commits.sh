#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A PostgreSQL server has its cluster on the disk of a pair of machines with DRBD. The serving
# daemon is killed in the middle of commits, on each machine in turn, and the other machine
# takes over. The server notices nothing. Every committed transaction is there exactly once, and
# no other is there. Tables, indexes, checksums of pages and a dump are without fault. The
# argument is how many times the daemon is killed on each machine; 2 by default.
#
# kernels: 6.12
# net: two
# mem: 1536
# disk: 192M
# timeout: 2400

# shellcheck source=tests/cases/engines/drbd.sh
source "$RDMABLK_TOP/tests/cases/engines/drbd.sh"
# shellcheck source=tests/cases/store/database.sh
source "$RDMABLK_TOP/tests/cases/store/database.sh"
# shellcheck source=tests/cases/store/postgres.sh
source "$RDMABLK_TOP/tests/cases/store/postgres.sh"
require mkfs.ext4 e2fsck drbdadm

ROUNDS=${1:-2} PAIR_BYTES=128M

make_database() {
	mkdir -p "$FS"
	mkfs.ext4 -q $DEV
	mount $DEV "$FS"
	server_make
	server_start
	: >/dev/shm/log.postgres
	python3 "$DATABASE" make postgres "$(where postgres)"
}

# gone_on HOW BEGAN: the writers commit again after a takeover
gone_on() {
	back
	writers_progress 1
	pair_over "$1" "$2"
	writers_progress 20
}

two() {
	local n

	pair_up
	make_database
	writers_start
	writers_progress 20
	for ((n = 0; n < ROUNDS; n++)); do
		killed_on_one
		killed_on_two
	done
	((HELD > 0)) || fail "no outage held a request"
	writers_kill
	still_live
	server_kill
	server_start
	look
	server_stop
	umount "$FS"
	pair_down
}

if [[ $ROLE == initiator ]]; then
	two
else
	machine_obeys
fi
