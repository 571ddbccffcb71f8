# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# For the cases of network with faults of packets. Each fault lasts until the counters of the
# network show it. The cases define through_STORE, the faults for a disk of that store.

# shellcheck source=tests/cases/network/lib.sh
source "$RDMABLK_TOP/tests/cases/network/lib.sh"

# dropped, doubled, gaps, queued: whether the counters show the fault, compared with before
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

# shaped EVIDENCE WHAT...: shapes both ends until the function EVIDENCE is true
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

# black_hole DEV: drops all packets that DEV sends, until the loss is noticed
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

# round STORE: runs the faults on a disk of this store; its history must be legal
round() {
	echo "$1"
	store_make "$1" 8388608
	fault_serve
	# With a long keep-alive timeout the transport notices the loss.
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
