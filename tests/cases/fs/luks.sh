# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The commands of Documentation/recipes/encrypt.rst that encrypt a disk, for cases of fs. The key is
# /tmp/key.

# shellcheck source=tests/lib/commands.sh
source "$RDMABLK_TOP/tests/lib/commands.sh"

# udev does not run here, so only the kernel makes device nodes.
export DM_DISABLE_UDEV=1

# shellcheck disable=SC2034 # for the cases
PLAIN=/dev/mapper/secret

# Nobody types a passphrase. The processor is emulated, so deriving the key is made cheap.
cryptsetup() {
	case $1 in
	luksFormat)
		command cryptsetup "$@" --batch-mode --pbkdf pbkdf2 --pbkdf-force-iterations 1000 \
			--key-file /tmp/key
		;;
	open) command cryptsetup "$@" --key-file /tmp/key ;;
	*) command cryptsetup "$@" ;;
	esac
}

# luks WORDS: runs the commands of the page's block that WORDS introduce
luks() {
	local script

	script=$(commands_of "$RDMABLK_TOP/Documentation/recipes/encrypt.rst" "$1") ||
		fail "no commands"
	echo "$script"
	eval "$script"
}
