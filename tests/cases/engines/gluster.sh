# shellcheck shell=bash disable=SC2016
# SPDX-License-Identifier: GPL-2.0-or-later
#
# For the cases of engines with a Gluster volume, by Documentation/recipes/ha-gluster.rst. The
# volume has three machines. The third one has a brick and no daemon. It is a network namespace
# of machine two, with a /run and a /var/lib/glusterd of its own.
#
#	volume_up		the volume is there, one serves, and the disk is connected
#	brick_kill NAME		the process of the brick of a machine, from that machine
#	brick_sum DIRECTORY	of what a brick has of the volume

# shellcheck source=tests/cases/engines/lib.sh
source "$RDMABLK_TOP/tests/cases/engines/lib.sh"

# shellcheck disable=SC2034 # for lib.sh
PAGE=$RDMABLK_TOP/Documentation/recipes/ha-gluster.rst
PAIR_BYTES=8M THREE_ADDR=10.99.0.3 THREE=/bricks/three LOCK_PATIENCE=240

# The packages are installed already, so the page's apt-get does nothing.
apt-get() {
	:
}

# gluster in script mode asks no questions. 'volume create' must wait until all peers are
# connected.
gluster() {
	[[ "$1 $2" != 'volume create' ]] || wait_until $PATIENCE peers_connected ||
		fail "the peers: $(command gluster pool list)"
	command gluster --mode=script "$@"
}

peers_connected() {
	(($(command gluster pool list | grep -c ' *Connected *$') == 3))
}

# --- a machine ----------------------------------------------------------------------------

# bricks_up: mounts the disk of the bricks, which also keeps Gluster's state over a boot
bricks_up() {
	mkdir -p /bricks
	if [[ ! -e /run/vm/made.$ROLE ]]; then
		mkfs.ext4 -q /dev/vda
		: >"/run/vm/made.$ROLE"
	fi
	mount /dev/vda /bricks
	[[ -d /bricks/glusterd ]] || cp -r /var/lib/glusterd /bricks/glusterd
	mount --bind /bricks/glusterd /var/lib/glusterd
	cleanup_add gluster_keep
}

# dumped: whether each process of Gluster here has written its state
dumped() {
	(($(grep -ls '^DUMP-END-TIME' /run/gluster/*.dump.* | wc -l) >= $(pgrep -c '^glusterfs')))
}

# gluster_keep: keeps Gluster's logs, and, if the test fails, the state of its processes
gluster_keep() {
	# shellcheck disable=SC2154 # of guest_clean_up
	if ((status != 0)); then
		pkill -USR1 '^glusterfs'
		wait_until 30 dumped || echo "a process of Gluster does not say what it waits for" >&2
		mkdir "/run/vm/gluster-dumps.$ROLE"
		cp /run/gluster/*.dump.* "/run/vm/gluster-dumps.$ROLE"
	fi
	cp -r /var/log/glusterfs "/run/vm/gluster.$ROLE"
}

machine_up() {
	modprobe fuse
	machine_begin
	printf '%s\n' "$TARGET_ADDR one" "$INITIATOR_ADDR two" "$THREE_ADDR three" >>/etc/hosts
	# gsyncd (geo-replication) would run a dozen Python programs at each start.
	rm /usr/lib/*/glusterfs/gsyncd
	bricks_up
	[[ $ROLE == target ]] || three_up
	follow 'On all three'
}

machine_again() {
	follow 'after each boot'
}

# three_up: makes machine three. Machine one reaches it through machine two, by proxy ARP
three_up() {
	local f

	ip netns add three
	ip link add v3 type veth peer name eth0 netns three
	ip address add 169.254.0.1/32 dev v3
	ip link set v3 up
	ip route add $THREE_ADDR dev v3 src "$INITIATOR_ADDR"
	echo 1 >/proc/sys/net/ipv4/ip_forward
	for f in eth0 v3; do
		echo 1 >"/proc/sys/net/ipv4/conf/$f/proxy_arp"
	done
	ip -n three -batch - <<-END
	link set lo up
	link set eth0 up
	address add $THREE_ADDR/32 dev eth0
	route add 10.99.0.0/24 dev eth0 scope link
	END
	cp -r /var/lib/glusterd $THREE.glusterd
	mkdir -p $THREE /var/log/glusterfs/three
	ip netns exec three bash -e <<-END
	mount --bind $THREE.glusterd /var/lib/glusterd
	mount --bind /var/log/glusterfs/three /var/log/glusterfs
	mount --bind $THREE /bricks
	mount -t tmpfs run /run
	mkdir /run/gluster
	apt-get() { :; }
	systemctl() { "\$3"; }
	$(page 'On all three')
	END
}

take_over() {
	wait_until $LOCK_PATIENCE lock_is_free || fail "the file is locked: $(locks)"
	follow 'takes over'
}

give_up() {
	follow 'On the machine that gives up'
}

# lock_is_free: whether the lock can be had; systemd starts the daemon again and again until
# then
lock_is_free() {
	flock -n 9 9<>$EXPORTED
}

# locks: prints the locks of this machine's brick
locks() {
	command gluster volume statedump ha || :
	grep -h '^posixlk' /run/gluster/*.dump.* || :
}

# refused: a daemon on this machine cannot lock the file
refused() {
	run_expect failed 'another daemon or export has locked it' timeout "$PATIENCE" "$RDMABLKD" \
		--insecure --listen "$INITIATOR_ADDR" --export "disk0,file=$EXPORTED,block=4096"
}

# --- bricks ---------------------------------------------------------------------------------

brick_kill() {
	local pid

	pid=$(pgrep -f "glusterfsd .*--volfile-id ha\.$1\.") || fail "no brick of $1"
	kill -KILL "$pid"
}

brick_sum() {
	(
		cd "$1/ha"
		find . -path ./.glusterfs -prune -o -type f -print0 | sort -z |
			xargs -0 sha256sum | sha256sum
	)
}

# bricks_connected: whether this machine's client is connected to all bricks
bricks_connected() {
	(($(cat /srv/ha/.meta/graphs/active/ha-client-?/private | grep -cx 'connected = 1') == 3))
}

# entries: prints how many files are not on all bricks, or "away" if a brick does not answer
entries() {
	command gluster volume heal ha info >/tmp/heal 2>&1 || :
	awk '/^Number of entries: [0-9]+$/ { n += $4; bricks++ } END { print bricks == 3 ? n : "away" }' \
		/tmp/heal
}

# healed: starts a heal, because Gluster itself does so every 10 minutes only; true when all is
# healed
healed() {
	command gluster volume heal ha >/tmp/heal.began 2>&1 || :
	[[ $(entries) == 0 ]]
}

not_healed() {
	[[ $(entries) =~ ^[1-9] ]]
}

copied() {
	wait_until $LOCK_PATIENCE healed || fail "the bricks differ: $(</tmp/heal)"
}

# --- machine two -----------------------------------------------------------------------------

# connects: connects the disk. The daemon notes the writer before it admits it, which takes a
# dozen operations of Gluster. On a slow machine the host gives up the first try.
connects() {
	follow 'On the host'
}

volume_up() {
	pair_begin
	ask :
	ask follow "'On \`\`one\`\`, once'"
	ask follow "'The daemon must not start at boot'"
	ask follow "'after each boot'"
	follow 'The daemon must not start at boot'
	follow 'after each boot'
	ask follow "'Then, on \`\`one\`\`, once'"
	wait_until $PATIENCE connects || fail "no disk"
	expect 'write through' "$(<$QUEUE/write_cache)" "the cache of the disk"
}
