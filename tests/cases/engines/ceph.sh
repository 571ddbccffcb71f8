# shellcheck shell=bash disable=SC2016
# SPDX-License-Identifier: GPL-2.0-or-later
#
# For the cases of engines whose pair maps images of Ceph, by Documentation/recipes/ha-ceph.rst.
# Machine two also runs the cluster: a monitor and one OSD, on its disk.
#
#	pair_up			both are set up, one serves, and the disk is connected
#	osd_start, osd_kill	the OSD
#	objects			how many objects the image has

# shellcheck source=tests/cases/engines/lib.sh
source "$RDMABLK_TOP/tests/cases/engines/lib.sh"
# shellcheck source=tests/lib/env.sh
source "$RDMABLK_TOP/tests/lib/env.sh"

# shellcheck disable=SC2034 # for lib.sh
PAGE=$RDMABLK_TOP/Documentation/recipes/ha-ceph.rst HERE=(-e 's/--size 1T/--size 64M/')
CEPH_PATIENCE=300
# shellcheck disable=SC2034 # for the cases
EXPORTED=/dev/rbd/ha/disk0

# --- a machine of the pair ---------------------------------------------------------------

# programs_up: lays Ceph from the cache over /usr, if the cache has it
programs_up() {
	local dir dirs=(bin lib/x86_64-linux-gnu lib/python3 lib/udev)

	[[ -d $RDMABLK_CEPH ]] || dirs=()
	for dir in "${dirs[@]}"; do
		mount -t overlay -o "lowerdir=$RDMABLK_CEPH/$dir:/usr/$dir" ceph "/usr/$dir"
	done
	require ceph-mon ceph-osd rbd
}

# udev_up: starts udev, which makes /dev/rbd and for which 'rbd map' waits; with no other rules
udev_up() {
	local rules=/usr/lib/udev/rules.d

	cp $rules/50-rbd.rules /run
	mount -t tmpfs rules $rules
	mv /run/50-rbd.rules $rules
	start_udevd
}

# machine_up: I/O of an image may wait for long while its OSD or the network is away
machine_up() {
	programs_up
	modprobe -q rbd || skip "no module rbd"
	echo 600 >/proc/sys/kernel/hung_task_timeout_secs
	machine_begin
	mkdir -p /etc/ceph /run/ceph
	udev_up
}

# machine_joins: copies into /etc/ceph what the page puts there
machine_joins() {
	cp /run/vm/ceph/* /etc/ceph
	follow 'as this client'
	follow 'once, as root'
}

machine_again() {
	machine_joins
}

take_over() {
	follow 'taken away'
	follow 'And then'
}

give_up() {
	follow 'On the machine that gives up'
}

copied() {
	:
}

# --- the cluster ----------------------------------------------------------------------------

# cluster_conf: the OSD's timeouts are long, because its emulated threads are slow
cluster_conf() {
	cat <<-END
	[global]
	fsid = 5a1c6e9e-6e2b-4a58-9d4e-0d9b7b7f0c11
	mon host = $INITIATOR_ADDR
	[mon]
	keyring = /etc/ceph/servers
	log file = /run/vm/mon.log
	mon initial members = a
	mon allow pool size one = true
	mon data avail warn = 0
	mon data avail crit = 0
	osd pool default size = 1
	osd pool default min size = 1
	osd pool default pg num = 8
	osd pool default pg autoscale mode = off
	osd crush chooseleaf type = 0
	[osd]
	keyring = /etc/ceph/servers
	log file = /run/vm/osd.log
	public addr = $INITIATOR_ADDR
	osd op num shards = 1
	osd op num threads per shard = 2
	osd op thread timeout = 120
	osd op thread suicide timeout = 600
	bluestore cache autotune = false
	bluestore cache size = 16M
	END
}

mon_start() {
	ceph-mon -f -i a 2>/run/vm/mon.errors &
	MON_PID=$!
}

osd_start() {
	ceph-osd -f -i 0 2>>/run/vm/osd.errors &
	OSD_PID=$!
}

# Monitor and OSD are ended by SIGKILL.
cluster_kill() {
	kill -KILL "$OSD_PID"
	kill -KILL "$MON_PID"
}
MON_PID='' OSD_PID=''

osd_kill() {
	kill -KILL "$OSD_PID"
	wait "$OSD_PID" || :
}

cluster_up() {
	local admin=/etc/ceph/ceph.client.admin.keyring data=/var/lib/ceph/osd/ceph-0 uuid

	mkdir -p /var/lib/ceph/mon $data
	cluster_conf >/etc/ceph/ceph.conf
	ceph-authtool -C $admin --gen-key -n client.admin --cap mon 'allow *' --cap osd 'allow *'
	ceph-authtool -C /etc/ceph/servers --import-keyring $admin
	ceph-authtool /etc/ceph/servers --gen-key -n mon. --cap mon 'allow *'
	ceph-authtool /etc/ceph/servers --gen-key -n osd.0 --cap mon 'allow profile osd' \
		--cap osd 'allow *'
	monmaptool --create --add a "$INITIATOR_ADDR" --enable-all-features \
		--fsid "$(sed -n 's/^fsid = //p' /etc/ceph/ceph.conf)" /run/monmap
	ceph-mon --mkfs -i a --monmap /run/monmap --keyring /etc/ceph/servers
	cleanup_add cluster_kill
	mon_start
	uuid=$(</proc/sys/kernel/random/uuid)
	timeout $CEPH_PATIENCE ceph osd new "$uuid"
	ln -s /dev/vda $data/block
	ceph-osd --mkfs -i 0 --osd-uuid "$uuid"
	osd_start
}

objects() {
	local prefix

	prefix=$(rbd info --format json ha/disk0 | jq -r .block_name_prefix)
	rados -p ha ls | grep -c "^$prefix"
}

# --- machine two -----------------------------------------------------------------------------

pair_up() {
	pair_begin
	cluster_up
	follow 'administrator'
	mkdir /run/vm/ceph
	cp /etc/ceph/ceph.{conf,client.ha.keyring} /run/vm/ceph
	machine_joins
	ask machine_joins
	ask follow "'On \`\`one\`\`, once'"
	ask take_over
	follow 'On the host'
	expect 'write through' "$(<$QUEUE/write_cache)" "the cache of the disk"
}
