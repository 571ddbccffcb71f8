# shellcheck shell=bash disable=SC2054
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The virtual machine itself, shared by run and shell. The caller sets SERIES
# SMP MEM NUMA MTU NET TIMEOUT SLOWNESS ICOUNT INTURN PLUGIN DISK LOG (directory of logs), TMP
# (directory of sockets and pipes, with a short name), INITRD (what tests/vm/initramfs prints)
# and COMMAND (array).

# QEMU's options take commas doubled.
comma() {
	echo "${1//,/,,}"
}

# guest_accel: sets ACCEL to QEMU's options
guest_accel() {
	local cpu threads=multi

	[[ ! $INTURN ]] || threads=single
	if [[ -n $ICOUNT ]]; then
		# Otherwise each byte of rep movsb would count as an instruction.
		ACCEL=(-accel tcg,thread=single -icount shift=1,sleep=off
			-cpu max,-erms,-fsrm)
	elif [[ $("$RDMABLK_TOP/tests/vm/accel" "$SERIES") == kvm ]]; then
		ACCEL=(-accel kvm -cpu host)
	else
		# Each miss of the emulated TLB walks all levels of the page table. Without erms
		# and fsrm the kernel copies eight bytes by an emulated instruction, with them
		# one. Copies of programs' memory cost half without smap; 'debug' keeps it.
		cpu=max,-la57,-erms,-fsrm
		[[ $SERIES == debug ]] || cpu+=,-smap
		# With a thread for each processor, a processor that waits for a spin lock
		# leaves QEMU's loop at each PAUSE and takes QEMU's own lock. The holder of the
		# spin lock needs that lock, too, to send an interrupt. This is half of the cost
		# of many cases.
		ACCEL=(-accel "tcg,thread=$threads" -cpu "$cpu")
	fi
}

# write_job ROLE: writes the file that guest-init sources
write_job() {
	local role=$1 report=0

	if [[ -z $ICOUNT ]] && ((TIMEOUT > 20)); then
		report=$((TIMEOUT - 10))
	fi
	{
		printf 'export RDMABLK_TOP=%q RDMABLK_CACHE=%q\n' \
			"$RDMABLK_TOP" "$RDMABLK_CACHE"
		printf 'export NET=%q MTU=%q KERNEL_SERIES=%q CI=%q\n' \
			"$NET" "$MTU" "$SERIES" "${CI:-}"
		printf 'export SLOWNESS=%q QUICK=%q LONG=%q\n' \
			"$SLOWNESS" "${QUICK:-}" "${LONG:-}"
		printf 'export MODULE=%q\n' \
			"$RDMABLK_TOP/build/$SERIES/kernel/rdmablk.ko"
		printf 'JOB_DIR=%q JOB_SHELL=%q JOB_HANG_REPORT=%q\n' \
			"$PWD" "$JOB_SHELL" "$report"
		printf 'JOB_COMMAND=('
		printf '%q ' "${COMMAND[@]}"
		printf ')\n'
	} >"$LOG/vm/job.$role"
	echo "$RDMABLK_TOP/tests/vm/guest-init" >"$LOG/vm/init"
	kernel_modules "$SERIES" >"$LOG/vm/modules"
	[[ ! $HEADERS ]] || : >"$LOG/vm/headers"
	# The guest needs a script, tree or cache that is below the host's /tmp.
	[[ " $PWD $RDMABLK_TOP $RDMABLK_CACHE ${COMMAND[*]}" == *' /tmp/'* ]] ||
		: >"$LOG/vm/hide-tmp"
}

# qemu_net ROLE: one cable between the two machines. Either may start first or
# start again: the initiator's end keeps trying.
qemu_net() {
	local mac=52:54:00:99:00:02 how=server=on

	[[ $NET == two ]] || return 0
	if [[ $1 == initiator ]]; then
		mac=52:54:00:99:00:01
		how=server=off,reconnect-ms=100
	fi
	QEMU+=(-netdev "stream,id=net0,$how,addr.type=unix,addr.path=$TMP/net"
		-device "virtio-net-pci,netdev=net0,mac=$mac,host_mtu=$MTU")
}

# qemu_nodes: divides the memory into $NUMA equal nodes
qemu_nodes() {
	local i

	((NUMA > 1)) || return 0
	for ((i = 0; i < NUMA; i++)); do
		QEMU+=(-object "memory-backend-ram,id=node$i,size=$((MEM / NUMA))M"
			-numa "node,nodeid=$i,memdev=node$i")
	done
}

qemu_disk() {
	local file=$LOG/disk.$1

	[[ -n $DISK ]] || return 0
	[[ -e $file ]] || truncate -s "$DISK" "$file"
	QEMU+=(-drive "file=$(comma "$file"),if=none,id=disk,format=raw,cache=none"
		-device virtio-blk-pci,drive=disk)
}

# qemu_command ROLE: sets QEMU, without the ports of qemu_ports
qemu_command() {
	local role=$1

	[[ -e $TMP/uuid.$role ]] ||
		cat /proc/sys/kernel/random/uuid >"$TMP/uuid.$role"
	QEMU=(qemu-system-x86_64 -machine "pc,vmport=off" "${ACCEL[@]}"
		-smp "$SMP" -m "$MEM" -nodefaults -no-user-config
		-display none -no-reboot -uuid "$(<"$TMP/uuid.$role")"
		-device virtio-rng-pci -device virtio-serial-pci
		-fsdev "local,id=root,path=/,security_model=none,readonly=on,multidevs=remap"
		-device virtio-9p-pci,fsdev=root,mount_tag=root
		-fsdev "local,id=vm,path=$(comma "$LOG/vm"),security_model=none"
		-device virtio-9p-pci,fsdev=vm,mount_tag=vm
		-kernel "$(kernel_image "$SERIES")"
		-initrd "$INITRD")
	qemu_nodes
	qemu_net "$role"
	qemu_disk "$role"
	[[ -z $PLUGIN ]] ||
		QEMU+=(-plugin "file=$(comma "$PLUGIN"),dir=$(comma "$LOG/vm")")
}

# qemu_ports ROLE: adds the console, the script's output and status, and the monitor
qemu_ports() {
	local role=$1

	QEMU+=(-chardev "file,id=console,path=$(comma "$LOG/console.$role"),append=on"
		-serial chardev:console
		-chardev "file,id=out,path=$TMP/out.$role"
		-device virtserialport,chardev=out,name=rdmablk.out
		-chardev "file,id=status,path=$TMP/status.$role"
		-device virtserialport,chardev=status,name=rdmablk.status
		-chardev "pipe,id=monitor,path=$TMP/mon.$role"
		-mon chardev=monitor,mode=readline)
}

# kernel_command_line ROLE: the kernel's options. loglevel: warnings have level 4 and reach the
# console. no_timer_check: on a busy host an emulated timer is late, which must not look like a
# broken one. dummy.numdummies: a built-in driver of dummy networks would make one by itself.
# init_on_alloc: Debian clears all allocated memory, which would hide code that forgets to. lpj:
# many emulated processors would measure their speed one after the other, which takes minutes
# and fails on a busy host; this value makes delays right at 2.5 GHz, and longer on a slower
# host. watchdog_thresh, rcu_cpu_stall_timeout: stuck kernel code must show in the log, but a
# processor for which a busy host has no time must not look stuck, also while it boots. A soft
# lockup takes two minutes then, and a stall of RCU as long (300 s is RCU's largest limit).
# The kernel puts unknown words into the environment of its first program.
kernel_command_line() {
	local speed='' stall=$((120 * SLOWNESS))

	((SMP <= 4)) || speed=lpj=10000000
	echo "console=ttyS0 loglevel=6 panic=-1 oops=panic log_buf_len=4M" \
		"mitigations=off no_timer_check 8250.nr_uarts=1" \
		"watchdog_thresh=60 rcupdate.rcu_cpu_stall_timeout=$((stall < 300 ? stall : 300))" \
		"init_on_alloc=0 dummy.numdummies=0${speed:+ $speed}" \
		"NET=$NET MTU=$MTU ROLE=$1${CMDLINE:+ $CMDLINE}"
}
