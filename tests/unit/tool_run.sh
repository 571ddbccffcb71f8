# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# For tests of tools/rdmablk with tool_shim.c in place of the module: runs the tool, and compares
# output, requests and schemas. Counts in $passed and $failed.

TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
TOOL=${RDMABLK_TOOL:-$TOP/tools/rdmablk}
DIR=$(mktemp -d) || exit 1
trap 'rm -rf "$DIR"' EXIT
# shellcheck disable=SC2034 # for the tests
passed=0 failed=0 skipped=0

[[ -x $TOOL ]] || make -s -C "$TOP/tools" >&2 || exit 1
"${CC:-cc}" -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Wno-nonnull-compare -shared \
	-fPIC -I"$TOP/kernel/uapi" -o "$DIR/shim.so" \
	"$TOP/tests/unit/tool_shim.c" "$TOP/tests/unit/tool_shim_answers.c" \
	-lmnl -ldl || exit 1

# A sanitized tool needs its runtime preloaded first.
preload=$(ldd "$TOOL" | sed -nE 's/.*libasan[^ ]* => ([^ ]+).*/\1/p'):$DIR/shim.so

pass() { passed=$((passed + 1)); }

fail() {
	failed=$((failed + 1))
	echo "FAIL $*"
}

# A shell starts background jobs with SIGINT ignored, and these tests may run in one.
SIGNALS=(--default-signal=INT)

# run [NAME=VALUE]... ARGUMENT...
run() {
	local set=()

	while [[ $1 == SHIM_*=* ]]; do
		set+=("$1")
		shift
	done
	what="${set[*]} rdmablk $*"
	: >"$DIR/log"
	env "${SIGNALS[@]}" "${set[@]}" SHIM_LOG="$DIR/log" LD_PRELOAD="$preload" \
		ASAN_OPTIONS=detect_leaks=0 \
		"$TOOL" "$@" >"$DIR/out" 2>"$DIR/err" </dev/null
	status=$?
}

# expect STATUS OUTPUT ERROR, after run: OUTPUT and ERROR are patterns
expect() {
	local out err

	out=$(<"$DIR/out") err=$(<"$DIR/err")
	# shellcheck disable=SC2053 # patterns are meant
	if [[ $status -ne $1 ]]; then
		fail "$what: exit status $status, not $1: $err"
	elif [[ $out != $2 ]]; then
		fail "$what: prints '$out', not '$2'"
	elif [[ $err != $3 ]]; then
		fail "$what: says '$err', not '$3'"
	else
		pass
	fi
}

# sent TEXT, after run: the tool sent this request
sent() {
	if grep -qxF -- "$1" "$DIR/log"; then
		pass
	else
		fail "$what: sends '$(<"$DIR/log")', not '$1'"
	fi
}

# unsent TEXT, after run: the log has no such line
unsent() {
	if grep -qxF -- "$1" "$DIR/log"; then
		fail "$what: sends '$1'"
	else
		pass
	fi
}

# valid NAME: the output follows a schema, or python3-jsonschema is missing
valid() {
	"$TOP/tests/lib/schema.py" "$TOP/Documentation/json/rdmablk-$1.schema.json" \
		"$DIR/out" || [[ $? -eq 77 ]]
}

# schema NAME, after run: each line, or the output as a whole, is valid
schema() {
	if valid "$1"; then
		pass
	else
		fail "$what: does not follow its schema: $(<"$DIR/out")"
	fi
}

# json EXPRESSION, after run: it is true of the output, which is 'o'
json() {
	if python3 -c "import json,sys; o=json.load(open(sys.argv[1])); assert $1" \
			"$DIR/out" 2>/dev/null; then
		pass
	else
		fail "$what: not true: $1: $(<"$DIR/out")"
	fi
}

# disk NAME STATE FILE=TEXT...: adds a disk to the tree that stands for /sys/block
disk() {
	local dir=$DIR/sys/$1 file

	mkdir -p "$dir/rdmablk" "$dir/queue" "$dir/holders"
	echo "$2" >"$dir/rdmablk/state"
	for file in "${@:3}"; do
		echo "${file#*=}" >"$dir/${file%%=*}"
	done
}
