# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Virtual machines that have a root file system of their own, for host tests. The caller has
# ACCEL (guest_accel in tests/vm/qemu.sh) and TMP, whose name is short enough for a socket in it.

declare -A MACHINE=()

# machine_disk DIRECTORY FILE UUID SIZE: makes an ext4 file system of what is in the directory
machine_disk() {
	mke2fs -q -t ext4 -d "$1" -U "$3" "$2" "$4" >/dev/null
}

# machine_start NAME KERNEL INITRD WORDS [OPTION]...: starts a machine; WORDS for the kernel's
# command line, OPTIONs for QEMU. Its console goes to $TMP/NAME.console.
machine_start() {
	local name=$1 kernel=$2 initrd=$3 words=$4 quiet

	# A login prompt would hang up the console for all other writers.
	quiet='systemd.mask=serial-getty@ttyS0.service systemd.show_status=false'
	shift 4
	: >"$TMP/$name.console"
	setpriv --pdeathsig KILL qemu-system-x86_64 -machine pc,vmport=off "${ACCEL[@]}" \
		-smp 2 -m 1536 -nodefaults -no-user-config -display none -no-reboot \
		-uuid "$(</proc/sys/kernel/random/uuid)" -device virtio-rng-pci \
		-chardev "file,id=console,path=$TMP/$name.console" -serial chardev:console \
		-kernel "$kernel" -initrd "$initrd" \
		-append "console=ttyS0 net.ifnames=0 panic=-1 mitigations=off $quiet $words" "$@" \
		</dev/null >"$TMP/$name.qemu" 2>&1 &
	MACHINE[$name]=$!
}

# machine_drive FILE: QEMU's options
machine_drive() {
	echo "-drive if=virtio,format=raw,file=$1"
}

# machine_cable END: QEMU's options of a network between the ends 'server' and 'client'; either
# may start again
machine_cable() {
	local how=server=on mac=1

	[[ $1 == server ]] || how=server=off,reconnect-ms=200 mac=2
	echo "-netdev stream,id=net0,$how,addr.type=unix,addr.path=$TMP/net" \
		"-device virtio-net-pci,netdev=net0,mac=52:54:00:99:00:0$mac"
}

machine_runs() {
	kill -0 "${MACHINE[$1]}" 2>/dev/null
}

# machine_says NAME REGEX SECONDS: waits for a line on the console; false if it does not come
machine_says() {
	local until=$((SECONDS + $3))

	while machine_runs "$1" && ((SECONDS < until)); do
		! grep -qE "$2" "$TMP/$1.console" || return 0
		sleep 1
	done
	grep -qE "$2" "$TMP/$1.console"
}

# machine_ends NAME SECONDS: waits until the machine has switched itself off
machine_ends() {
	local until=$((SECONDS + $2))

	while machine_runs "$1"; do
		((SECONDS < until)) || return
		sleep 1
	done
}

machine_kill() {
	kill -KILL "${MACHINE[$1]}" 2>/dev/null
	wait "${MACHINE[$1]}" 2>/dev/null
	unset "MACHINE[$1]"
}

machine_kill_all() {
	local name

	for name in "${!MACHINE[@]}"; do
		machine_kill "$name"
	done
}
