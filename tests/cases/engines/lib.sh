# shellcheck shell=bash disable=SC2016
# SPDX-License-Identifier: GPL-2.0-or-later
#
# For the cases of engines: a pair of machines that take over from each other by the commands of
# a page of Documentation/recipes. Machine one is the target's. Machine two also is the host
# that uses the disk, and sends orders to machine one. The engine's file beside this one sets
# PAGE and HERE, and defines
#
#	machine_up		after each boot
#	machine_again		after a boot that was not the first one
#	give_up, take_over	a machine does
#	copied			each machine has everything
#
# The case defines gone_on HOW BEGAN: after a takeover the load goes on.
#
#	machine_obeys		what machine one does from the first boot on
#	ask WORD...		machine one does it
#	pair_over HOW BEGAN	the disk is back after a takeover
#	daemon_write ANSWER	a block is written as by the stopped daemon
#	killed_on_one		the daemon there is killed with a write under way, and machine two takes
#				over
#	killed_on_two		the same the other way round
#	powered_off		machine one loses its power while it serves, and boots
#	pair_down		the disk is disconnected, and machine one, which serves, ends

# shellcheck source=tests/cases/store/lib.sh
source "$RDMABLK_TOP/tests/cases/store/lib.sh"
# shellcheck source=tests/cases/recovery/lib.sh
source "$RDMABLK_TOP/tests/cases/recovery/lib.sh"
# shellcheck source=tests/lib/commands.sh
source "$RDMABLK_TOP/tests/lib/commands.sh"

PAGE='' HERE=()
# shellcheck disable=SC2034 # for the cases
FLOATING=10.99.0.10 EXPORTED=/srv/ha/disk0.img PAIR_BYTES=32M
ORDERS_PATIENCE=900 ORDER=0 TAKEOVERS=0

# --- the page ------------------------------------------------------------------------

# here <SCRIPT: replaces addresses, sizes and devices by those of these machines
here() {
	sed -e "s/10\.0\.0\.10/$FLOATING/g" -e "s/10\.0\.0\.1/$TARGET_ADDR/g" \
		-e "s/10\.0\.0\.2/$INITIATOR_ADDR/g" -e "s/500G/$PAIR_BYTES/" "${HERE[@]}"
}

# page WORDS: prints the page's commands that WORDS introduce
page() {
	local text

	text=$(commands_of "$PAGE" "$1") || fail "no block"
	here <<<"$text"
}

follow() {
	local script

	# Not on the left of '||', where bash ignores errors of the commands.
	script=$(page "$1")
	echo "$script"
	eval "$script"
}

# systemctl VERB [--now] UNIT: a guest has no units. Only the daemon's unit is started and
# stopped. A unit that is enabled is a program that becomes a daemon by itself. A stop of the
# daemon's unit ends in SIGKILL after its timeout; here SIGKILL comes at once.
systemctl() {
	case $1 in
	daemon-reload | disable) ;;
	enable) "$3" ;;
	start)
		mend
		net_wait net_rxe_ready rxe0 $FLOATING || fail "no RDMA at $FLOATING"
		start_target --config /etc/rdmablk/rdmablkd.conf
		;;
	stop) ! target_lives || stop_target KILL ;;
	*) fail "systemctl $*" ;;
	esac
}

rdmablk() {
	"$RDMABLK" "$@"
}

# --- a machine of the pair ---------------------------------------------------------------

# mend: makes the RDMA device again if its queue pair 1 is dead. The network stack has refused a
# packet of a killed daemon, after the floating address was gone, and rxe does not recover from
# that.
mend() {
	local addr=$TARGET_ADDR

	rdma resource show qp link rxe0/1 | grep 'type GSI state ERR' >/dev/null || return 0
	[[ $ROLE == target ]] || addr=$INITIATOR_ADDR
	link_delete rxe0
	link_add rxe0 eth0 "$addr"
}

# machine_begin: sets up what each engine needs after a boot
machine_begin() {
	local name=two

	[[ $ROLE == initiator ]] || name=one
	echo $name >/proc/sys/kernel/hostname
	modprobe -a virtio_blk
	wait_until $PATIENCE test -b /dev/vda || fail "no /dev/vda"
	systemd-sysusers "$RDMABLK_TOP/target/systemd/rdmablkd.sysusers"
	mkdir -p /etc/rdmablk/keys /srv/ha
	chmod 700 /etc/rdmablk/keys
	page '``/etc/rdmablk/rdmablkd.conf``' >/etc/rdmablk/rdmablkd.conf
	(umask 077 && cp /run/vm/web1.key /etc/rdmablk/keys)
}

kill_daemon() {
	stop_target KILL
}

# --- machine one ---------------------------------------------------------------------------

# Carries out orders one after the other; after a boot it goes on behind the last one done.
machine_obeys() {
	local order n=0

	peer_wait key 300
	machine_up
	[[ ! -e /run/vm/done.1 ]] || machine_again
	while :; do
		((++n))
		[[ ! -e /run/vm/done.$n ]] || continue
		order=$(peer_wait "order.$n" $ORDERS_PATIENCE)
		echo "order $n: $order"
		[[ $order != end ]] || break
		eval "$order"
		peer_set "done.$n"
	done
	peer_set "done.$n"
}

stop_daemon() {
	kill -STOP "$TARGET_PID"
}

# daemon_write ANSWER: writes the first block of the export through a copy of the descriptor of
# the stopped daemon on this machine, because the daemon's lock belongs to that descriptor.
# ANSWER is ok, or the name of an errno.
daemon_write() {
	local answers

	answers=$(timeout "$PATIENCE" python3 "$RDMABLK_TOP/tests/cases/store/descriptors.py" <<-END
	borrow daemon $TARGET_PID $EXPORTED direct
	write daemon 0 4096 1
	END
	) || fail "the write hangs"
	expect "ok $1" "${answers//$'\n'/ }" "the daemon's descriptor, and its write"
}

session_is_gone() {
	[[ $(rdmablk target sessions --json | jq '.sessions | length') == 0 ]]
}

# continue_daemon: lets the stopped daemon go on, and waits until its session has ended
continue_daemon() {
	kill -CONT "$TARGET_PID"
	wait_until $PATIENCE session_is_gone || fail "the daemon keeps its session"
}

# --- machine two -----------------------------------------------------------------------------

ask() {
	peer_set "order.$((++ORDER))" "$*"
	peer_wait "done.$ORDER" $ORDERS_PATIENCE
}

# pair_begin: makes a key for the host, and brings both machines up
pair_begin() {
	rdmablk key new --name web1 --out /root/web1.key
	cp /root/web1.key /run/vm
	peer_set key
	machine_up
	load_module
	rdmablk key load /root/web1.key
}

now() {
	local up

	read -r up _ </proc/uptime
	echo "${up/./}0"
}

# pair_over HOW BEGAN: called when the disk works again. Prints how long the takeover took on
# this machine, and how many requests the outage held
pair_over() {
	local held

	held=$(status held)
	printf 'takeover %d, %s: %d ms, %d requests\n' "$TAKEOVERS" "$1" $(($(now) - $2)) \
		$((held - HELD))
	expect 0 "$(status errors)" "the number of failed requests"
	HELD=$held
}
HELD=0

writing() {
	local writes

	read -r _ writes <"/sys/block/rdmablk0/inflight"
	((writes > 0))
}

# kill_writing: kills this machine's daemon if a write is under way, with the daemon stopped
# meanwhile
kill_writing() {
	kill -STOP "$TARGET_PID"
	if ! writing; then
		kill -CONT "$TARGET_PID"
		return 1
	fi
	kill_daemon
}

# back: waits until the disk is back after one more takeover
back() {
	expect_back $((++TAKEOVERS))
}

# stop_writing: stops machine one's daemon, and lets it go on if no write is under way. A write that
# is under way when an order is sent may be answered before machine one carries the order out; a
# stopped daemon answers no write.
stop_writing() {
	ask stop_daemon
	writing && return
	ask 'kill -CONT "$TARGET_PID"'
	return 1
}

killed_on_one() {
	local began

	wait_until "$PATIENCE" stop_writing || fail "no write is under way"
	began=$(now)
	ask kill_daemon
	ask give_up
	take_over
	gone_on "the daemon of one was killed" "$began"
	copied
}

killed_on_two() {
	local began

	wait_until "$PATIENCE" kill_writing || fail "no write is under way"
	began=$(now)
	give_up
	ask take_over
	gone_on "the daemon of two was killed" "$began"
	copied
}

# cut_off: cuts machine one off. The cable is unplugged first: packets that QEMU of machine one
# does not take any more would keep QEMU of machine two from sending.
cut_off() {
	host_do link target off
}

# powered_off: returns when machine one has booted and obeys again
powered_off() {
	local began

	began=$(now)
	cut_off
	host_do kill target
	take_over
	gone_on "one has lost its power" "$began"
	host_do start target
	ask :
}

# pair_down: ends the case while machine one serves
pair_down() {
	disconnect
	ask give_up
	ask end
	unload_module
}
