# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# For the cases of databases: they commit on a file system on the disk while its target dies.
# The commits are logged in the guest's memory, see database.py.
#
# A case sets KINDS, see database.py, and may define the functions server_*.

# shellcheck source=tests/cases/store/lib.sh
source "$RDMABLK_TOP/tests/cases/store/lib.sh"
# shellcheck source=tests/cases/recovery/lib.sh
source "$RDMABLK_TOP/tests/cases/recovery/lib.sh"

DATABASE=$RDMABLK_TOP/tests/cases/store/database.py FS=/mnt/database FILE=$DISK/disk0
KINDS=() WRITERS=()

# Defaults for a database without a server. where KIND: prints WHERE of database.py
server_make() { :; }
server_start() { :; }
server_stop() { :; }
server_kill() { :; }
server_check() { :; }

where() {
	echo "$FS/$1"
}

# databases COMMAND: makes or checks the databases
databases() {
	local kind

	for kind in "${KINDS[@]}"; do
		timeout "$PATIENCE" python3 "$DATABASE" "$1" "$kind" "$(where "$kind")" \
			"/dev/shm/log.$kind" || return
	done
}

# databases_make SIZE: makes the databases on a new disk with a new file system
databases_make() {
	local kind

	mkdir -p $FS
	rm -f $FILE
	truncate -s "$1" $FILE
	serve_file "$FILE,cache=none"
	connect
	mkfs.ext4 -q $DEV
	mount $DEV $FS
	server_make
	server_start
	for kind in "${KINDS[@]}"; do
		: >"/dev/shm/log.$kind"
		python3 "$DATABASE" make "$kind" "$(where "$kind")"
	done
	server_stop
	umount $FS
	disconnect
	stop_target
}

# up EXPORT-WORDS [OPTION...]: starts the daemon, connects, mounts, and starts the server
up() {
	serve_file "$FILE,$1" "${@:2}"
	connect --dev-loss-tmo off --reconnect-delay 1
	mount $DEV $FS
	server_start
}

down() {
	server_stop
	umount $FS
	disconnect
	stop_target
	expect 0 "$TARGET_STATUS" "the daemon's exit status"
}

# --- the writers ---------------------------------------------------------------------

writers_start() {
	local kind

	for kind in "${KINDS[@]}"; do
		python3 "$DATABASE" write "$kind" "$(where "$kind")" \
			"/dev/shm/log.$kind" >"/tmp/writer.$kind" 2>&1 &
		WRITERS+=($!)
		cleanup_add cat "/tmp/writer.$kind"
	done
}

committed() {
	grep -c '^c' "/dev/shm/log.$1" || :
}

# writers_progress N: waits until each writer has committed N more transactions
writers_progress() {
	local kind enough

	for kind in "${KINDS[@]}"; do
		enough=$(($(committed "$kind") + $1))
		wait_until "$PATIENCE" committed_more "$kind" "$enough" ||
			fail "$kind commits nothing: $(cat "/tmp/writer.$kind")"
	done
}

committed_more() {
	(($(committed "$1") >= $2))
}

# All writers end with status 3, because their databases have failed.
writers_fail() {
	local pid status

	for pid in "${WRITERS[@]}"; do
		wait_until "$PATIENCE" process_is_gone "$pid" || fail "a writer hangs"
		status=0
		wait "$pid" || status=$?
		expect 3 "$status" "a writer's exit status"
	done
	WRITERS=()
}

process_is_gone() {
	! kill -0 "$1" 2>/dev/null
}

writers_kill() {
	kill -KILL "${WRITERS[@]}" 2>/dev/null || :
	wait "${WRITERS[@]}" || :
	WRITERS=()
}

# --- crashes -------------------------------------------------------------------------

# look: checks the databases and the file system
look() {
	databases check || fail "a database has lost something"
	server_check
	server_stop
	umount $FS
	run_expect 0 '' e2fsck -fn $DEV
	mount $DEV $FS
	server_start
}

# unnoticed EXPORT-WORDS: the daemon is killed three times under load, and no request fails
unnoticed() {
	local n

	up "$1"
	writers_start
	for n in 1 2 3; do
		writers_progress 20
		stop_target KILL
		serve_file "$FILE,$1"
		expect_back "$n"
		writers_progress 20
	done
	writers_kill
	still_live
	server_kill
	server_start
	look
	down
}

decided() {
	[[ $(attribute state) == @(live|failed) ]]
}

# scribble: writes without a flush, until a write fails
scribble() {
	while dd if=/dev/zero of="$FS/scribble" bs=4k count=64 oflag=direct conv=notrunc \
		status=none; do
		:
	done 2>/dev/null
}

# crash EXPORT-WORDS: daemon and database die under load. scribble keeps some data unflushed
# most of the time, even if the database flushes everything. CRASH is the state of the disk
# afterwards: failed, if acknowledged data was lost, or live. Then the disk is connected again.
crash() {
	local unflushed scribbler

	writers_start
	scribble &
	scribbler=$!
	writers_progress 20
	stop_target KILL
	unflushed=$(status unflushed)
	serve_file "$FILE,$1"
	wait_until "$PATIENCE" decided || fail "the state is $(attribute state)"
	CRASH=$(attribute state)
	if [[ $CRASH == failed ]]; then
		expect true "$unflushed" "unflushed"
		expect 'store has lost its contents' "$(<$SESSION/reason)" "the reason"
		writers_fail
	else
		[[ $1 != cache=full* || $unflushed == false ]] ||
			fail "what was not flushed is lost, and the disk goes on"
		"$RDMABLK" disconnect --force rdmablk0
		writers_kill
	fi
	server_kill
	kill "$scribbler" 2>/dev/null || :
	wait "$scribbler" || :
	wait_until "$PATIENCE" umount $FS || fail "$FS is in use"
	if [[ $CRASH == failed ]]; then
		"$RDMABLK" reconnect --accept-data-loss --wait "$PATIENCE" rdmablk0
	else
		connect --dev-loss-tmo off --reconnect-delay 1
	fi
	mount $DEV $FS
	server_start
}

# crashes N EXPORT-WORDS HOW: crashes until N of them have left the disk in the state HOW
crashes() {
	local n=0 tries=0

	up "$2"
	while ((n < $1)); do
		((++tries <= 10)) || fail "$((tries - 1)) crashes, $n of them ${3^^}"
		crash "$2"
		look
		[[ $CRASH != "$3" ]] || ((++n))
	done
	down
}

# nothing_kept: with a daemon that answers flushes without doing them, transactions are missing
# after a crash
nothing_kept() {
	local honest=$RDMABLKD

	program faults/rdmablkd
	RDMABLKD=$PROGRAM
	up cache=full --fault lost-flush
	writers_start
	writers_progress 20
	stop_target KILL
	RDMABLKD=$honest
	"$RDMABLK" disconnect --force rdmablk0
	writers_kill
	server_kill
	wait_until "$PATIENCE" umount $FS || fail "$FS is in use"
	up cache=full
	! databases check >/tmp/verdict || fail "nobody has noticed: $(cat /tmp/verdict)"
	grep -q 'is missing' /tmp/verdict || fail "the verdict: $(cat /tmp/verdict)"
	down
}
