# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# For cases with the swapping program pressed.py. Source it after the case's own library. The
# case starts the program with its output in /tmp/said, and sets PRESSED to its process id.

visits() {
	awk '/^[0-9]/ { n = $1 } END { print n + 0 }' /tmp/said
}

pressed_over() {
	! kill -0 "$PRESSED" 2>/dev/null
}

visited() {
	(($(visits) >= $1)) || pressed_over
}

# goes_on [PAGES]: the program visits that many more pages
goes_on() {
	wait_until "$PATIENCE" visited $(($(visits) + ${1:-2048})) ||
		fail "no progress: $(tail -n 3 /tmp/said)"
	! pressed_over || fail "the program has ended: $(tail -n 3 /tmp/said)"
}
