# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The commands that a document shows, for tests that run them. In reStructuredText they are
# the literal blocks behind '::', in Markdown the blocks between fences. A block is named by
# words of its introduction, the paragraph before it.

# commands_blocks FILE MODE [WORDS]: MODE text prints the blocks whose introduction has WORDS,
# without their indentation; introductions prints the introduction of each block, a line each
commands_blocks() {
	MODE=$2 WORDS=${3:-} awk '
	function begin() {
		introduction = paragraph != "" && paragraph != "::" ? paragraph : last
		wanted = index(introduction, ENVIRON["WORDS"]) > 0
		code = 1
		width = blank = 0
		if (ENVIRON["MODE"] == "introductions")
			print introduction
	}
	function end_paragraph() {
		if (paragraph != "")
			last = paragraph
		paragraph = ""
	}
	function show(line) {
		if (!wanted || ENVIRON["MODE"] != "text")
			return
		for (; blank > 0; blank--)
			print ""
		print line
	}
	FNR == 1 { markdown = FILENAME ~ /\.md$/ }
	markdown && /^```/ {
		if (code) {
			code = 0
		} else {
			end_paragraph()
			begin()
		}
		next
	}
	markdown && code { show($0); next }
	code && /^ *$/ { blank += width > 0; next }
	code {
		match($0, /^ */)
		if (!width && RLENGTH > base)
			width = RLENGTH
		if (width && RLENGTH >= width) {
			show(substr($0, width + 1))
			next
		}
		code = 0
		end_paragraph()
	}
	/^ *$/ { end_paragraph(); next }
	{
		line = $0
		gsub(/^ +| +$/, "", line)
		paragraph = paragraph (paragraph == "" ? "" : " ") line
	}
	!markdown && /::$/ && !/^ *\.\. / { match($0, /^ */); base = RLENGTH; begin() }
	' "$1"
}

# commands_of FILE WORDS: the commands of the one block that WORDS introduce; status 1 if there
# is no such block, or more than one
commands_of() {
	local n

	n=$(commands_blocks "$1" introductions | grep -cF -- "$2")
	if ((n != 1)); then
		echo "${1##*/}: $n blocks are introduced by '$2'" >&2
		return 1
	fi
	commands_blocks "$1" text "$2"
}

# commands_count <SCRIPT: how many there are: a document for cat, a comment and the second line
# of a command count as none
commands_count() {
	awk '
	document { document = $0 != "END"; next }
	/<<END/ { document = 1 }
	/^ *(#|$)/ { next }
	!more { n++ }
	{ more = /\\$/ }
	END { print n + 0 }'
}
