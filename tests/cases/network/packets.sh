# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# For the cases of network in which something becomes of packets, until the counters of the
# network have seen it. They define through_STORE, what happens to a disk of that store.

# shellcheck source=tests/cases/network/lib.sh
source "$RDMABLK_TOP/tests/cases/network/lib.sh"

# dropped, doubled, gaps, queued: there was that, or more of it than before
dropped() {
	(($(qdisc v0 drops) > drops[0] && $(qdisc v1 drops) > drops[1]))
}

doubled() {
	(($(counters rv1 duplicate_request) > trouble))
}

gaps() {
	(($(counters rv1 out_of_seq_request) > trouble))
}

queued() {
	(($(qdisc v0 backlog) > 0 && $(qdisc v1 backlog) > 0))
}

# shaped EVIDENCE WHAT...: on both ends, until that has been seen
shaped() {
	case $1 in
	dropped) drops=("$(qdisc v0 drops)" "$(qdisc v1 drops)") ;;
	doubled) trouble=$(counters rv1 duplicate_request) ;;
	gaps) trouble=$(counters rv1 out_of_seq_request) ;;
	esac
	fault_begin netem v0+v1 "${@:2}"
	wait_until "$PATIENCE" "$1" || fail "'${*:2}' was not seen: $1"
	history_progress 20
	fault_end netem v0+v1 "${@:2}"
	echo "${*:2}: $SECONDS s"
}

# black_hole DEV
black_hole() {
	local before errors

	before=$(attribute reconnects)
	errors=$(transport_errors)
	fault_begin netem "$1" loss 100%
	wait_state recovering
	fault_end netem "$1" loss 100%
	expect_back $((before + 1))
	expect_well 20
	[[ $STORE != memory ]] || expect_ended retry 0 "$errors"
	echo "black hole $1: $SECONDS s"
}

# round STORE: a disk whose history is legal after all that
round() {
	echo "$1"
	store_make "$1" 8388608
	fault_serve
	# Where no keep-alive is that early it is the transport that notices.
	if [[ $1 == memory ]]; then
		connect_patient --keep-alive-tmo 20
	else
		connect_patient
	fi
	history_start --max 16K --flush 100 --fua 10
	"through_$1"
	expect_legal
	disconnect
	stop_target
	store_remove
}

# rounds STORE...
rounds() {
	local store

	net_shaped
	load_module
	leak_snapshot
	for store in "$@"; do
		round "$store"
	done
	unload_module
	leak_check
}
