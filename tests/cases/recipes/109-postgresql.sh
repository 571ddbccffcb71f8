#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Documentation/recipes/postgresql.rst: pgbench runs while the daemon is killed twice, and each
# transaction succeeds. Then the disk fails, because its target may have lost unflushed data:
# the server stops, and has each committed transaction after its restart.
#
# kernels: 6.12
# mem: 1536
# timeout: 1200

# shellcheck source=tests/cases/recipes/lib.sh
source "$RDMABLK_TOP/tests/cases/recipes/lib.sh"
require mkfs.ext4 runuser pgrep

CLIENTS=4 TURNS=150

programs=(/usr/lib/postgresql/*/bin)
[[ -x ${programs[-1]}/initdb && -x ${programs[-1]}/pgbench ]] || skip "no PostgreSQL"
((SLOWNESS == 1)) || skip "store/114 has PostgreSQL on this kernel"
PATH=${programs[-1]}:$PATH

as_postgres() {
	(cd / && runuser -u postgres -- "$@")
}

# rows: prints the number of pgbench's transactions in the database
rows() {
	as_postgres psql -Atc 'SELECT count(*) FROM pgbench_history' postgres
}

rows_more() {
	bench_over || (($(rows) >= $1))
}

bench_over() {
	! kill -0 "$BENCH" 2>/dev/null
}

bench_progress() {
	wait_until "$PATIENCE" rows_more $(($(rows) + $1)) || fail "no progress: $(</tmp/bench)"
	! bench_over || fail "pgbench has ended: $(</tmp/bench)"
}

# servers: prints the server's processes, without runuser, which stops itself when its child is
# stopped and would never be continued
servers() {
	pgrep -u postgres -x postgres || :
}

server_is_gone() {
	[[ ! $(servers) ]]
}

# write_unflushed: writes data that stays unflushed, because the server is stopped
write_unflushed() {
	dd if=/dev/zero of=/pgdata/scribble bs=4k count=16 oflag=direct conv=notrunc status=none
	[[ $(status unflushed) == true ]]
}

decided() {
	[[ $(attribute state) == @(live|failed) ]]
}

machines 1 448
target_start 1
install -d -o postgres /run/postgresql /var/log/postgresql
recipe postgresql s/500G/256M/
follow 'keeps what was flushed'
load_module
follow 'On the host::'
as_postgres pgbench -q -i -s 1 postgres >/tmp/bench 2>&1 || fail "pgbench: $(</tmp/bench)"
as_postgres pgbench -n -c $CLIENTS -t $TURNS postgres >/tmp/bench 2>&1 &
BENCH=$!
for _ in 1 2; do
	bench_progress 40
	stop_target KILL
	wait_state recovering
	target_start 1
	wait_live 0
done
bench_progress 20
wait_until "$PATIENCE" bench_over || fail "pgbench hangs"
wait "$BENCH" || fail "pgbench: $(</tmp/bench)"
grep -q "actually processed: $((CLIENTS * TURNS))/$((CLIENTS * TURNS))\$" /tmp/bench ||
	fail "pgbench: $(</tmp/bench)"
still_live

# For the disk it looks as if the target had lost the file's page cache.
dd if=/dev/zero of=/pgdata/scribble bs=64k count=1 conv=fsync status=none
as_postgres pgbench -n -c $CLIENTS -T 600 postgres >/tmp/bench 2>&1 &
BENCH=$!
bench_progress 20
committed=$(rows)
mapfile -t stopped < <(servers)
kill -STOP "${stopped[@]}"
wait_until "$PATIENCE" write_unflushed || fail "all is flushed"
stop_target KILL
expect true "$(status unflushed)" "unflushed"
kill -CONT "${stopped[@]}"
cp --sparse=always /srv/1/pgdata /srv/1/copy
mv /srv/1/copy /srv/1/pgdata
target_start 1
wait_until "$PATIENCE" decided || fail "the state is $(attribute state)"
expect_failed 'store has lost its contents'
wait_until "$PATIENCE" server_is_gone ||
	fail "the server goes on: $(tail -n 20 /var/log/postgresql/main.log)"
wait "$BENCH" || :
follow 'stopped with PANIC'
n=$(rows)
((committed > CLIENTS * TURNS && n >= committed)) || fail "$n transactions are left of $committed"
as_postgres pg_ctl -D /pgdata/main -w -m fast stop
as_postgres pg_checksums --check --pgdata=/pgdata/main >/tmp/sums 2>&1 || fail "$(</tmp/sums)"
umount /pgdata
run_expect 0 '' e2fsck -fn $DEV
disconnect
stop_target
unload_module
recipe_end
