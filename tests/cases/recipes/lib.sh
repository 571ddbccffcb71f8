# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0-or-later
#
# For the cases of recipes: each runs the commands of a page of Documentation/recipes exactly as
# printed there, and proves the claims of the page. One machine is the initiator and all
# targets: target N has the address 10.99.0.N in place of the pages' 10.0.0.N, and a daemon, a
# control socket, a state directory and a directory for files of its own.
#
#	recipe NAME [SED]...	the page, and what else differs here, sizes mostly
#	target_start N		the daemon of target N
#	on N			what follows happens on target N
#	follow WORDS		runs the commands of the block that WORDS introduce
#	recipe_end		each block of the page was run

# shellcheck source=tests/cases/store/lib.sh
source "$RDMABLK_TOP/tests/cases/store/lib.sh"
# shellcheck source=tests/lib/commands.sh
source "$RDMABLK_TOP/tests/lib/commands.sh"

# udev does not run here, so only the kernel makes device nodes.
export DM_DISABLE_UDEV=1 LVM_SUPPRESS_FD_WARNINGS=1 MDADM_NO_UDEV=1

RECIPE_COMMANDS=14	# at most, in a page
PAGE='' CHANGES=() FOLLOWED=() AT=1
declare -A PIDS=()

recipe() {
	local change n

	PAGE=$RDMABLK_TOP/Documentation/recipes/$1.rst
	[[ -f $PAGE ]] || fail "no $PAGE"
	n=$(commands_blocks "$PAGE" text | commands_count)
	((n > 0 && n <= RECIPE_COMMANDS)) || fail "$n commands in $PAGE"
	FOLLOWED=() CHANGES=()
	for change in "${@:2}"; do
		CHANGES+=(-e "$change")
	done
}

# here <SCRIPT: replaces addresses and directories by those of this machine
here() {
	sed -E -e 's/10\.0\.0\./10.99.0./g' -e "s,/srv/,/srv/$AT/,g" "${CHANGES[@]}"
}

follow() {
	local script

	commands_of "$PAGE" "$1" >/tmp/commands || fail "no commands"
	here </tmp/commands >/tmp/script
	FOLLOWED+=("$1")
	script=$(</tmp/script)
	echo "$script"
	eval "$script"
}

recipe_end() {
	local words n=0

	n=$(commands_blocks "$PAGE" introductions | wc -l)
	for words in "${FOLLOWED[@]}"; do
		echo "$words"
	done | sort -u >/tmp/followed
	expect "$n" "$(wc -l </tmp/followed)" "the number of blocks that were run, of $PAGE"
}

# --- the machines ---------------------------------------------------------------------

# machines N [MIB [TYPE]]: adds addresses for targets 3 to N, because the network has two, and
# makes one file system on a RAM disk for the files of all targets. Files can belong to the
# daemon's user, although the daemons run as root here
machines() {
	local n

	systemd-sysusers "$RDMABLK_TOP/target/systemd/rdmablkd.sysusers"
	# shellcheck disable=SC2034 # of store/lib.sh
	DISK=/srv
	if (($# > 1)); then
		ram_disk "$2"
		file_system "${@:3}"
	fi
	for ((n = 3; n <= $1; n++)); do
		ip address add "10.99.0.$n/24" dev dummy0
		net_wait net_rxe_ready rxe0 "10.99.0.$n" || fail "no RDMA at 10.99.0.$n"
	done
}

on() {
	PIDS[$AT]=$TARGET_PID
	AT=$1
	TARGET_PID=${PIDS[$1]:-} TARGET_LOG=/run/target$1/log TARGET_ADDR=10.99.0.$1
}

# target_start N: starts the daemon of target N with its saved exports, and one spare export
target_start() {
	local dir=/run/target$1

	on "$1"
	if [[ ! -e $dir/etc ]]; then
		mkdir -p "$dir/etc" "/srv/$1"
		cleanup_add cp "$TARGET_LOG" "/run/vm/rdmablkd.$1"
		printf '%s\n' '[target]' "listen = $TARGET_ADDR" 'insecure = yes' \
			"control = $dir/control" "state-dir = $dir/state" \
			'[export spare]' 'type = memory' 'size = 1M' >"$dir/etc/rdmablkd.conf"
	fi
	start_target --config "$dir/etc/rdmablkd.conf"
}

# needs_module NAME...: skips the case on a kernel without them
needs_module() {
	local name

	for name in "$@"; do
		modprobe -q "$name" || skip "no module $name"
	done
}

rdmablk() {
	if [[ $1 == target ]]; then
		"$RDMABLK" target --control "/run/target$AT/control" "${@:2}"
	else
		"$RDMABLK" "$@"
	fi
}

# --- disks ------------------------------------------------------------------------------

# wait_live N...
wait_live() {
	local n

	for n in "$@"; do
		wait_state live "$n"
	done
}

fails_io() {
	[[ $(attribute io_failing "$1") == 1 ]]
}

# sum_of DIR: prints a checksum of all names and contents
sum_of() {
	(cd "$1" && find . -type f -print0 | sort -z | xargs -0 sha256sum | sha256sum)
}

# disk_writes N: prints how many bytes were written to the disk so far
disk_writes() {
	local fields

	read -ra fields <"/sys/block/rdmablk$1/stat"
	echo $((fields[6] * 512))
}

# --- writers with fsync -------------------------------------------------------------------

# durable_start DEVICE BYTES: starts a writer, which writes until a request fails and logs what
# fsync has promised
durable_start() {
	DURABLE_OF=$1 DURABLE_BYTES=$2
	: >/dev/shm/durable
	python3 "$DURABLE" write "$1" "$2" /dev/shm/durable &
	DURABLE_PID=$!
	cleanup_add durable_kill
	durable_progress
}

durable_lives() {
	kill -0 "$DURABLE_PID" 2>/dev/null
}

durable_kill() {
	! durable_lives || kill -KILL "$DURABLE_PID"
}

durable_fsyncs() {
	grep -c '^F' /dev/shm/durable || :
}

durable_more() {
	! durable_lives || (($(durable_fsyncs) >= $1))
}

# durable_progress [N]: waits until N more fsyncs have returned
durable_progress() {
	wait_until "$PATIENCE" durable_more $(($(durable_fsyncs) + ${1:-20})) ||
		fail "no fsync returns"
	durable_lives || fail "a request has failed: $(tail -n 3 /dev/shm/durable)"
}

durable_stop() {
	durable_lives || fail "a request has failed: $(tail -n 3 /dev/shm/durable)"
	kill -KILL "$DURABLE_PID"
	wait "$DURABLE_PID" || :
}

# durable_in FILE: the file has all that fsync has promised
durable_in() {
	python3 "$DURABLE" check "$1" "$DURABLE_BYTES" /dev/shm/durable fsynced ||
		fail "$1 lacks something that fsync has promised"
}
