# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Draws fault number n of a seed: always the same one, whichever others were drawn before.
# Source it after lib/faults.sh.

# draw N: sets DRAWN to one of 0..N-1 (splitmix64)
draw() {
	local z

	((draw_state += 0x9e3779b97f4a7c15)) || :
	z=$draw_state
	((z = (z ^ (z >> 30 & 0x3ffffffff)) * 0xbf58476d1ce4e5b9)) || :
	((z = (z ^ (z >> 27 & 0x1fffffffff)) * 0x94d049bb133111eb)) || :
	DRAWN=$((((z ^ (z >> 31 & 0x1ffffffff)) & 0x7fffffffffffffff) % $1))
}

# draw_kinds: sets KINDS to the first words of the table, each once, however many lines have it;
# frequent kinds of faults are there more often
draw_kinds() {
	local line kind seen=' '

	KINDS=(netem netem kill rdma)
	# shellcheck disable=SC2153 # of lib/faults.sh
	for line in "${FAULTS[@]}"; do
		kind=${line#*: }
		kind=${kind%% *}
		[[ $seen != *" $kind "* ]] || continue
		seen+="$kind "
		KINDS+=("$kind")
	done
}

# draw_fault USED: draws a fault that needs nothing of USED; sets FAULT and USES
draw_fault() {
	local line uses word fits=() kind

	FAULT='' USES=''
	draw ${#KINDS[@]}
	kind=${KINDS[DRAWN]}
	for line in "${FAULTS[@]}"; do
		uses=${line%%: *}
		[[ ${line#*: } == "$kind" || ${line#*: } == "$kind "* ]] || continue
		for word in $uses; do
			[[ " $1 " != *" $word "* ]] || continue 2
		done
		fits+=("$line")
	done
	((${#fits[@]})) || return 0
	draw ${#fits[@]}
	FAULT=${fits[DRAWN]#*: }
	USES=${fits[DRAWN]%%: *}
}

# draw_number SEED N: sets
#	FIRST, SECOND	the faults; there is a second one now and then
#	BEFORE	ms until the first one begins
#	BETWEEN	ms from there until the second one begins
#	LASTS	ms from there, the first one's end
#	LONGER	ms from there, the second one's end; negative: it ends before
# shellcheck disable=SC2034 # for the script that sources this one
draw_number() {
	draw_state=$(($1 * 0x2545f4914f6cdd1d + $2))
	draw 1
	draw_fault ''
	FIRST=$FAULT SECOND=''
	draw 400
	BEFORE=$DRAWN
	# Many faults are short, and some are longer than the keep-alive timeout.
	draw 3000
	LASTS=$((100 + DRAWN * DRAWN / 3000))
	draw 3
	if ((DRAWN == 0)); then
		draw_fault "$USES"
		SECOND=$FAULT
	fi
	draw 1000
	BETWEEN=$DRAWN
	draw 2000
	LONGER=$((DRAWN - 1000))
}

draw_kinds
