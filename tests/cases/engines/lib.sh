# shellcheck shell=bash disable=SC2016
# SPDX-License-Identifier: GPL-2.0-or-later
#
# For the cases of engines: a pair of machines that take over from each other by the commands of
# Documentation/recipes/ha-drbd.rst. Machine one is the target's. Machine two is also the host
# that uses the disk, and tells machine one what to do.
#
#	machine_up		after each boot
#	machine_obeys		what machine one does from then on
#	ask WORD...		machine one does it
#	pair_up			both are set up, one serves, and the disk is connected
#	pair_down		the disk is disconnected, and machine one ends
#	give_up, take_over	a machine does
#	pair_over HOW BEGAN	the disk is back after a takeover

# shellcheck source=tests/cases/store/lib.sh
source "$RDMABLK_TOP/tests/cases/store/lib.sh"
# shellcheck source=tests/cases/recovery/lib.sh
source "$RDMABLK_TOP/tests/cases/recovery/lib.sh"
# shellcheck source=tests/lib/commands.sh
source "$RDMABLK_TOP/tests/lib/commands.sh"

PAGE=$RDMABLK_TOP/Documentation/recipes/ha-drbd.rst
# shellcheck disable=SC2034 # for the cases
FLOATING=10.99.0.10 EXPORTED=/srv/ha/disk0.img PAIR_BYTES=32M
ORDERS_PATIENCE=900 ORDER=0 TAKEOVERS=0

# --- the page ------------------------------------------------------------------------

# here <SCRIPT: with the addresses, sizes and devices of these machines
here() {
	sed -e "s/10\.0\.0\.10/$FLOATING/g" -e "s/10\.0\.0\.1/$TARGET_ADDR/g" \
		-e "s/10\.0\.0\.2/$INITIATOR_ADDR/g" -e "s/500G/$PAIR_BYTES/" \
		-e 's,/dev/vg0/ha,/dev/vda,'
}

# page WORDS: the block that WORDS introduce
page() {
	local text

	text=$(commands_of "$PAGE" "$1") || fail "no block"
	here <<<"$text"
}

follow() {
	local script

	# Without '||', with which no error in it would end the case.
	script=$(page "$1")
	echo "$script"
	eval "$script"
}

# systemctl VERB UNIT: here the daemon has no unit. A stop of the unit ends by SIGKILL, at the
# latest after its time, and so does one that nobody has given time.
systemctl() {
	case $1 in
	daemon-reload | disable) ;;
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

# Queue pair 1 of rxe does not survive a packet that the network stack has refused: that of
# a daemon that was killed, after its address has gone.
mend() {
	local addr=$TARGET_ADDR

	rdma resource show qp link rxe0/1 | grep 'type GSI state ERR' >/dev/null || return 0
	[[ $ROLE == target ]] || addr=$INITIATOR_ADDR
	link_delete rxe0
	link_add rxe0 eth0 "$addr"
}

# drbd_is WHAT REGEX: cstate, role, dstate
drbd_is() {
	[[ $(drbdadm "$1" ha 2>&1) =~ ^($2)$ ]]
}

# expect_drbd WHAT REGEX
expect_drbd() {
	wait_until $PATIENCE drbd_is "$1" "$2" ||
		fail "$1 is $(drbdadm "$1" ha), not $2: $(</proc/drbd)"
}

# copied: each machine has everything
copied() {
	expect_drbd cstate Connected
	expect_drbd dstate 'UpToDate/UpToDate'
}

machine_up() {
	local name=two

	[[ $ROLE == initiator ]] || name=one
	echo $name >/proc/sys/kernel/hostname
	modprobe -a virtio_blk drbd
	wait_until $PATIENCE test -b /dev/vda || fail "no /dev/vda"
	systemd-sysusers "$RDMABLK_TOP/target/systemd/rdmablkd.sysusers"
	mkdir -p /etc/rdmablk/keys /srv/ha /run/drbd /var/lib/drbd
	chmod 700 /etc/rdmablk/keys
	page '``/etc/drbd.d/ha.res``' >/etc/drbd.d/ha.res
	page '``/etc/rdmablk/rdmablkd.conf``' >/etc/rdmablk/rdmablkd.conf
	(umask 077 && cp /run/vm/web1.key /etc/rdmablk/keys)
}

# promoted: DRBD takes the other machine for alive for some seconds
promoted() {
	drbdadm primary ha 2>/tmp/promote
}

take_over() {
	wait_until $PATIENCE promoted || fail "not primary: $(</tmp/promote)"
	follow 'takes over'
}

give_up() {
	follow 'On the machine that gives up'
}

kill_daemon() {
	stop_target KILL
}

# --- machine one ---------------------------------------------------------------------------

# One thing after the other; after a boot, from where it was.
machine_obeys() {
	local order n=0

	peer_wait key 300
	machine_up
	[[ ! -e /run/vm/done.1 ]] || drbdadm up ha
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

# --- machine two -----------------------------------------------------------------------------

ask() {
	peer_set "order.$((++ORDER))" "$*"
	peer_wait "done.$ORDER" $ORDERS_PATIENCE
}

pair_up() {
	rdmablk key new --name web1 --out /root/web1.key
	cp /root/web1.key /run/vm
	peer_set key
	machine_up
	load_module
	rdmablk key load /root/web1.key
	ask follow "'once, as root'"
	follow 'once, as root'
	ask follow "'On \`\`one\`\`, once'"
	copied
	follow 'On the host'
	expect 'write through' "$(<$QUEUE/write_cache)" "the cache of the disk"
}

# pair_down: machine one serves
pair_down() {
	disconnect
	ask give_up
	ask end
	unload_module
}

now() {
	local up

	read -r up _ </proc/uptime
	echo "${up/./}0"
}

# pair_over HOW BEGAN: the caller has seen the disk work; says how long it had not, at this speed
pair_over() {
	printf 'takeover %d, %s: %d ms\n' "$TAKEOVERS" "$1" $(($(now) - $2))
	expect 0 "$(status errors)" "the number of failed requests"
}

# back: the disk, after one takeover more
back() {
	expect_back $((++TAKEOVERS))
}
