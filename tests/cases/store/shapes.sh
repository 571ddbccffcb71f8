# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# For the cases of stores with errors and of unusual shapes.

# shellcheck source=tests/cases/store/lib.sh
source "$RDMABLK_TOP/tests/cases/store/lib.sh"

# shellcheck disable=SC2034 # for the cases
KIB=1024 MIB=$((1024 * 1024))

# io ANSWER COMMAND NAME [WORD...]: sends descriptors.py a command; ANSWER is a regular
# expression
io() {
	if [[ -z ${DESCRIPTORS_PID:-} ]]; then
		coproc DESCRIPTORS {
			exec python3 "$RDMABLK_TOP/tests/cases/store/descriptors.py"
		}
	fi
	echo "${@:2}" >&"${DESCRIPTORS[1]}"
	read -r -t $((PATIENCE * SLOWNESS)) -u "${DESCRIPTORS[0]}" ANSWER ||
		fail "no answer to '${*:2}'"
	[[ $ANSWER =~ ^($1)$ ]] || fail "'${*:2}' has ended with $ANSWER, not $1"
}

# open_disk: opens four descriptors: two direct ones, where the writes of d are FUA, and two
# with the page cache
open_disk() {
	io ok open a $DEV direct
	io ok open d $DEV direct dsync
	io ok open b $DEV
	io ok open c $DEV
}

close_disk() {
	local name

	for name in a b c d; do
		io ok close $name
	done
}

# begin_blank CACHE: connects the disk of a new $FILE, which is one hole of $SIZE bytes
begin_blank() {
	truncate -s 0 "$FILE"
	truncate -s "$SIZE" "$FILE"
	serve_file "$FILE,cache=$1"
	connect
	open_disk
}

# end_well: ends the disk and the daemon, whose status must be 0
end_well() {
	close_disk
	disconnect
	stop_target
	expect 0 "$TARGET_STATUS" "the daemon's exit status"
}

# told_once ERROR: a failed writeback is reported to each descriptor exactly once
told_once() {
	local name

	for name in a b c d; do
		io "$1" fsync $name
		io ok fsync $name
	done
}

# file_has FILE OFFSET BYTES SEED: FILE has this data now; a device is read past the page cache
file_has() {
	if [[ -b $1 ]]; then
		io ok open file "$1" ro direct
	else
		io ok open file "$1" ro
	fi
	io ok check file "${@:2}"
	io ok close file
}

# failed_since N COUNT: COUNT requests have failed since there were N failed ones
failed_since() {
	expect $(($1 + $2)) "$(status errors)" "the number of failed requests"
}

# undisturbed: the session goes on, whatever requests have failed
undisturbed() {
	expect live "$(attribute state)" "the state"
	expect 0 "$(attribute reconnects)" "the number of reconnects"
	target_lives || fail "the daemon is gone"
}
