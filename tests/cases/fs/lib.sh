# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The life cycle of a file system, the same for each type.

# tree_sum DIR: names, sizes, modes and contents
tree_sum() {
	(
		cd "$1" || exit
		find . -printf '%P %y %m %l\n' | sort
		find . -type f -print0 | sort -z | xargs -0 sha256sum
	) | sha256sum
}

# copy_tree: some hundred small files, links, and some larger than a request
copy_tree() {
	mkdir /mnt/tree
	cp -a /usr/include/linux "$RDMABLK_TOP/kernel" /mnt/tree
	cp -a "$(readlink -f /usr/bin/python3)" "$RDMABLKD" /mnt/tree
	ln -s linux/fs.h /mnt/tree/link
	head -c 5000001 /dev/urandom >/mnt/tree/random
	truncate -s 20M /mnt/tree/sparse
	echo end >>/mnt/tree/sparse
}

# life_cycle TYPE CHECK MKFS...: CHECK fails the test unless "$DEV" is clean
life_cycle() {
	local type=$1 check=$2 sum

	shift 2
	"$@" "$DEV"
	mount "$DEV" /mnt
	expect "$type" "$(findmnt -no FSTYPE /mnt)" "the type of file system"
	copy_tree
	sum=$(tree_sum /mnt/tree)
	# The copied tree is the same as its source.
	diff -r /usr/include/linux /mnt/tree/linux
	run_expect 4 'in use' "$RDMABLK" disconnect rdmablk0
	umount /mnt
	"$check"
	disconnect

	connect
	"$check"
	mount "$DEV" /mnt
	expect "$sum" "$(tree_sum /mnt/tree)" "the checksum after the reconnect"
	rm -r /mnt/tree/linux
	cp -a /mnt/tree/random /mnt/tree/copy
	sync -f /mnt
	cmp /mnt/tree/random /mnt/tree/copy
	umount /mnt
	"$check"
	still_live
	device_same_as_target
	disconnect
}
