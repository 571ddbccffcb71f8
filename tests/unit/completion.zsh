# SPDX-License-Identifier: GPL-2.0-or-later
#
# completion.zsh DIR LINES: what zsh makes of command lines, with the completions of DIR.
# LINES has a command line a line; for each one, the matches of its last word are printed
# in a line of LINES.out, in order. Needs a terminal, and prints to it what does not matter.

emulate zsh
setopt extended_glob
fpath=($1 $fpath)
lines=("${(@f)$(<$2)}")
out=$2.out
autoload -Uz compinit
compinit -D -u
zstyle ':completion:*' insert-tab false

# Keeps the matches, as the words that they would become, instead of showing them.
compadd()
{
	local -a hits
	local -A before after

	if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then
		builtin compadd "$@"
		return
	fi
	builtin compadd -A hits "$@"
	(( $#hits )) && builtin compadd "$@"
	zparseopts -E P:=before S:=after p:=before s:=after
	(( $#hits )) || return 1
	found+=("$IPREFIX$before[-P]$before[-p]"$^hits"$after[-s]")
	return 0
}

capture()
{
	found=()
	_main_complete
	compstate[insert]= compstate[list]=
}
zle -C capture complete-word capture

all()
{
	local line

	: >$out
	for line in "$lines[@]"; do
		BUFFER=$line CURSOR=$#line
		zle capture
		print -r -- "${(ou)found[@]}" >>$out
	done
	print -r end >>$out
	exit
}
zle -N zle-line-init all
