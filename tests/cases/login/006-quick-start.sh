#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The commands of the README and of the admin guide lead, exactly as printed there, from a new
# key to a mounted disk. They are ten and eight at most. This machine plays both machines, and
# the module requires keys. tests/packages runs the README's commands with real packages.
#
# kernels: 6.12
# in-turn: yes
# quick: yes

# shellcheck source=tests/cases/data/lib.sh
source "$RDMABLK_TOP/tests/cases/data/lib.sh"
# shellcheck source=tests/lib/commands.sh
source "$RDMABLK_TOP/tests/lib/commands.sh"

# commands FILE: prints the commands from "rdmablk key new" to "mount"
commands() {
	commands_blocks "$1" text | sed -nE '/^(tools\/)?rdmablk key new --name web1 /,/^mount /p'
}

# here <SCRIPT: replaces address, size and paths of programs by those of this machine
here() {
	sed -E -e "s/10\.0\.0\.1/$TARGET_ADDR/; s/size = 16G/size = 64M/" \
		-e 's/^(tools|target)\///; s/ +# .*//'
}

rdmablk() {
	"$RDMABLK" "$@"
}

rdmablkd() {
	start_target "$@"
}

# scp FROM TO: copies between "two" machines, which are this one
scp() {
	[[ $2 == root@web1:* || $1 == "root@$TARGET_ADDR:$2"* ]] || fail "scp $1 $2"
	[[ $1 == root@* ]] || cp -p "$1" "${2#*:}"
}

# Stand-ins for packages and the service
apt() {
	[[ $* == 'install ./rdmablk_*.deb ./rdmablk-dkms_*.deb' ]] || fail "apt $*"
}

chown() {
	[[ $* == '-R rdmablkd /etc/rdmablk/keys' ]] || fail "chown $*"
}

systemctl() {
	case $* in
	'enable --now rdmablkd') start_target --config /etc/rdmablk/rdmablkd.conf ;;
	'start rdmablk@disk0') rdmablk up disk0 ;;
	*) fail "systemctl $*" ;;
	esac
}

# follow FILE MOST: runs its commands, at most MOST; a disk must be mounted then
follow() {
	local script n

	commands "$1" >/tmp/commands
	n=$(commands_count </tmp/commands)
	((n > 4 && n <= $2)) || fail "$n commands in $1: $(</tmp/commands)"
	here </tmp/commands >/tmp/script
	rm -rf /etc/rdmablk
	install -d -m 700 /etc/rdmablk/keys /etc/rdmablk/rdmablk{,d}.conf.d
	: >/etc/rdmablk/rdmablkd.conf
	: >/etc/rdmablk/rdmablk.conf
	load_module require_key=1
	script=$(</tmp/script)
	eval "$script" >/tmp/out
	findmnt -n -o SOURCE /mnt | grep -qx "$DEV" || fail "no disk is mounted: $script"
	expect psk "$(status auth)" "the authentication of $1"
	umount /mnt
	disconnect
	unload_module
	stop_target
	rdmablk key unload web1
}

follow "$RDMABLK_TOP/README.md" 10
follow "$RDMABLK_TOP/Documentation/admin-guide.rst" 8
