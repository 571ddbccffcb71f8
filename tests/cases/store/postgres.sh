# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A PostgreSQL server for the cases of databases, with its cluster on the disk. Source it after
# store/database.sh.

require setpriv

# shellcheck disable=SC2034 # of database.sh
KINDS=(postgres) CLUSTER=$FS/cluster SOCKET=/run/postgres SERVER=''
programs=(/usr/lib/postgresql/*/bin)
PGBIN=${programs[-1]}
[[ -x $PGBIN/initdb && -x $PGBIN/pg_amcheck ]] || skip "no PostgreSQL"
export PSQL=$PGBIN/psql PGHOST=$SOCKET PGUSER=postgres

# postgres PROGRAM [ARGS]: runs the program as the user postgres
postgres() {
	(
		cd /
		setpriv --reuid=postgres --regid=postgres --clear-groups \
			"$PGBIN/$1" "${@:2}"
	)
}

where() {
	echo "$SOCKET"
}

# A small cache makes the server write.
server_make() {
	install -d -o postgres "$SOCKET" "$CLUSTER"
	postgres initdb -D "$CLUSTER" --auth=trust --data-checksums --wal-segsize=1 \
		--locale=C --no-sync >/tmp/initdb
	cat >>"$CLUSTER/postgresql.conf" <<-EOF
	listen_addresses = ''
	unix_socket_directories = '$SOCKET'
	max_connections = 10
	shared_buffers = 1MB
	min_wal_size = 2MB
	max_wal_size = 4MB
	checkpoint_timeout = 30s
	EOF
	sync -f "$FS"
}

server_start() {
	install -d -o postgres "$SOCKET"
	: >/tmp/postgres
	chown postgres /tmp/postgres
	postgres pg_ctl -D "$CLUSTER" -l /tmp/postgres -w -t $((PATIENCE * SLOWNESS)) \
		start >/tmp/pg_ctl || fail "no server: $(cat /tmp/pg_ctl /tmp/postgres)"
	read -r SERVER <"$CLUSTER/postmaster.pid"
}

server_stop() {
	[[ $SERVER ]] || return 0
	postgres pg_ctl -D "$CLUSTER" -w -t $((PATIENCE * SLOWNESS)) -m fast \
		stop >/tmp/pg_ctl || fail "the server stays: $(cat /tmp/pg_ctl /tmp/postgres)"
	SERVER=''
}

# server_processes: prints all processes of the server
server_processes() {
	find /proc -maxdepth 1 -name '[0-9]*' -user postgres -printf '%f\n' 2>/dev/null || :
}

server_is_gone() {
	[[ -z $(server_processes) ]]
}

# server_kill: kills the server; it may have given up already
server_kill() {
	server_processes | xargs -r kill -KILL 2>/dev/null || :
	wait_until "$PATIENCE" server_is_gone || fail "the server hangs"
	SERVER=''
}

server_check() {
	postgres pg_amcheck --install-missing --heapallindexed --parent-check postgres ||
		fail "pg_amcheck: $(cat /tmp/postgres)"
	postgres pg_dump postgres >/dev/null || fail "pg_dump: $(cat /tmp/postgres)"
	server_stop
	postgres pg_checksums --check --pgdata="$CLUSTER" >/tmp/pg_checksums ||
		fail "$(cat /tmp/pg_checksums)"
}
