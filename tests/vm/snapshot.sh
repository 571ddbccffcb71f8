# shellcheck shell=bash disable=SC2054,SC2154
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The boot of an emulated guest is the same each time until the guest looks at the host's files,
# and is half of the cost of a short test. So the boot runs once, and the cache keeps a snapshot
# of the machine in $RDMABLK_CACHE/snapshots. Guests continue from there. initramfs-init then
# sets the things that must differ, the time and the kernel's random numbers.
#
# To be sourced after qemu.sh.

snapshots=$RDMABLK_CACHE/snapshots

# snapshot_possible: false if time counts instructions; with a disk, because the kernel has read
# its beginning; with a virtio-net, because QEMU 10.0.2 crashes when it reads its state; and
# with KVM, which boots a guest fast enough
snapshot_possible() {
	[[ ! $ICOUNT && ! $DISK && $NET != two && ${ACCEL[*]} != *kvm* ]]
}

# snapshot_file ROLE: prints the name of the file, a hash of all that the guest has seen by then
snapshot_file() {
	local here=$RDMABLK_TOP/tests/vm key

	key=$({
		qemu-system-x86_64 --version
		cat "$here/qemu.sh" "$here/snapshot.sh"
		readlink -f "$(kernel_image "$SERIES")"
		echo "$INITRD"
		kernel_command_line "$1"
		echo "$SMP $MEM $NUMA $INTURN"
	} | sha256sum | cut -c1-16)
	echo "$snapshots/$SERIES-$key"
}

# The machine that makes the snapshot and the one that reads it need the same file and the same
# devices; the host's side of the devices may differ. With mapped-ram each page has a fixed
# place in the snapshot, and QEMU reads only the pages that are not empty. Without it QEMU looks
# at every page of the guest's memory, which takes two seconds if the host is a virtual machine
# itself.
snapshot_qemu() {
	local role=$1

	mkfifo "$TMP/go.$role.in" "$TMP/go.$role.out"
	qemu_command "$role"
	QEMU+=(-device "vmgenid,guid=auto" -global migration.mapped-ram=on)
	qemu_ports "$role"
	QEMU+=(-chardev "pipe,id=go,path=$TMP/go.$role"
		-device virtserialport,chardev=go,name=rdmablk.go)
}

# snapshot_go ROLE: sends what initramfs-init waits for, the time and random bytes. A pipe that
# no process has open loses its contents, so it stays open until QEMU has read it.
snapshot_go() {
	local go

	if [[ ${GO[$1]:-} ]]; then
		go=${GO[$1]}
		exec {go}>&-
	fi
	exec {go}<>"$TMP/go.$1.in"
	GO[$1]=$go
	echo "$EPOCHSECONDS $(</proc/sys/kernel/random/uuid)" >&"$go"
}

# snapshot_wait SECONDS CMD...: waits until CMD succeeds; false after SECONDS, or if QEMU ends
snapshot_wait() {
	local deadline=$((SECONDS + $1))

	shift
	until "$@"; do
		((SECONDS < deadline)) && kill -0 "$machine" 2>/dev/null || return 1
		pause 0.05 || :
	done
}

snapshot_is_written() {
	echo 'info migrate' >"$TMP/mon.$1.in"
	pause 0.1
	grep -aq 'Migration status: completed' "$TMP/answers"
}

# snapshot_make ROLE FILE: starts a machine, saves its snapshot, and ends it
snapshot_make() (
	role=$1 file=$2 machine=
	TMP=$(mktemp -d /tmp/rdmablk.XXXXXX)
	LOG=$TMP
	trap '[[ ! $machine ]] || kill -KILL "$machine" 2>/dev/null; rm -rf "$TMP" "$file.new"' EXIT
	trap 'exit 143' INT TERM HUP
	mkdir "$LOG/vm"
	mkfifo "$TMP/mon.$role.in" "$TMP/mon.$role.out"
	cat "$TMP/mon.$role.out" >"$TMP/answers" &
	snapshot_qemu "$role"
	setpriv --pdeathsig KILL "${QEMU[@]}" \
		-append "$(kernel_command_line "$role")" \
		</dev/null >"$TMP/qemu" 2>&1 &
	machine=$!
	if ! snapshot_wait "$BOOT_TIMEOUT" grep -qsx ready "$TMP/status.$role" ||
		wild_clock; then
		echo "vm/run: no guest to keep" >&2
		exit 1
	fi
	printf '%s\n' 'migrate_set_parameter max-bandwidth 8G' \
		"migrate file:$file.new" >"$TMP/mon.$role.in"
	if ! snapshot_wait "$BOOT_TIMEOUT" snapshot_is_written "$role"; then
		echo "vm/run: a guest could not be kept:" >&2
		tail -n 3 "$TMP/answers" "$TMP/qemu" >&2
		exit 1
	fi
	mv "$file.new" "$file"
)

# snapshot_find ROLE: prints the file of the snapshot, if there is one
snapshot_find() {
	local file lock

	file=$(snapshot_file "$1")
	mkdir -p "$snapshots"
	exec {lock}>"$snapshots/lock.$SERIES"
	flock "$lock"
	if [[ ! -e $file ]]; then
		find "$snapshots" -name "$SERIES-*" -mtime +2 -delete
		snapshot_make "$1" "$file" {lock}>&- >&2 || return 1
	fi
	exec {lock}>&-
	touch "$file"
	echo "$file"
}
