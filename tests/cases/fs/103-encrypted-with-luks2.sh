#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# dm-crypt on the disk, by the commands of Documentation/recipes/encrypt.rst: LUKS2 with sectors
# of 4096 bytes, and ext4 on it. FLUSHes, writes with FUA and discards reach the target's file. A
# file system in use survives an outage and grows with the file. The file has none of the data in
# clear, and a wrong key opens nothing.
#
# mem: 1024
# kernels: 6.12
# timeout: 600

# shellcheck source=tests/cases/store/lib.sh
source "$RDMABLK_TOP/tests/cases/store/lib.sh"
# shellcheck source=tests/cases/fs/luks.sh
source "$RDMABLK_TOP/tests/cases/fs/luks.sh"
require cryptsetup mkfs.ext4 resize2fs jq

TEXT=rdmablk-plain-text-
FILE=$DISK/file MNT=/media/secret

serve_it() {
	serve_file "$FILE,cache=full,block=4096"
}

# more COUNTER CMD...: CMD makes this counter of the disk grow
more() {
	local before

	before=$(status "$1")
	"${@:2}"
	(($(status "$1") > before)) || fail "$1 does not grow with ${*:2}"
}

# more_fua N CMD...: at least N WRITEs with FUA reach the disk while CMD runs
more_fua() {
	local event=$TRACING/events/block/block_rq_issue major minor found

	IFS=: read -r major minor </sys/block/rdmablk0/dev
	echo >$TRACING/trace
	echo "dev == $((major << 20 | minor))" >"$event/filter"
	echo 1 >"$event/enable"
	"${@:2}"
	echo 0 >"$event/enable"
	found=$(grep -cE "block_rq_issue: $major,$minor F?WF" $TRACING/trace || :)
	((found >= $1)) || fail "$found WRITEs with FUA, not $1: $(tail -n 20 $TRACING/trace)"
}

unlock() {
	command cryptsetup open --type luks2 --allow-discards --key-file "${1:-/tmp/key}" $DEV secret
}

write_text() {
	printf "$TEXT%.0s" {1..50000} >"$MNT/$1"
}

tree_sum() {
	(cd $MNT && find . -type f -print0 | sort -z | xargs -0 sha256sum | sha256sum)
}

modprobe dm_crypt
ram_disk 192
file_system
truncate -s 64M $FILE
serve_it
load_module
connect
random_file 64 /tmp/key
random_file 64 /tmp/wrong
luks 'no data in clear'
expect ext4 "$(blkid -p -o value -s TYPE $PLAIN)" "the file system"
cryptsetup close secret
run_expect 2 'No key available' unlock /tmp/wrong
unlock
expect 4096 "$(blockdev --getss $PLAIN)" "the sector"
mkdir -p $MNT
mount -o discard $PLAIN $MNT
cp -r /usr/include/linux $MNT
write_text first
more flushes sync -f $MNT
more flushes dd if=/tmp/key of=$MNT/durable oflag=dsync status=none

# An overwrite of what is on the disk needs no FLUSH, but FUA.
expect 1 "$(<$QUEUE/fua)" "queue/fua of the disk"
expect 1 "$(cat /sys/block/dm-*/queue/fua)" "queue/fua of dm-crypt"
random_file 64K $MNT/overwritten
sync -f $MNT
more_fua 16 dd if=/dev/zero of=$MNT/overwritten bs=4k count=16 conv=notrunc \
	oflag=direct,dsync status=none

# A file that goes is discarded, and the target's file gives the space back.
random_file 16M $MNT/large
sync -f $MNT
used=$(stat -c %b $FILE)
rm $MNT/large
more discards fstrim $MNT
sync -f $MNT
(($(stat -c %b $FILE) < used)) || fail "the file keeps the space: $(stat -c %b $FILE)"

# In use through an outage
write_text second &
WRITER=$!
stop_target TERM
wait_until "$PATIENCE" state_is recovering || fail "no outage: $(status state)"
serve_it
wait "$WRITER"
sync -f $MNT
still_live

# Larger, from the file up
sum=$(tree_sum)
truncate -s 96M $FILE
"$RDMABLK" target resize disk0 >/dev/null
larger() {
	(($(blockdev --getsize64 $DEV) == 96 << 20))
}
wait_until "$PATIENCE" larger || fail "the disk does not grow"
cryptsetup resize --key-file /tmp/key secret
resize2fs $PLAIN >/tmp/resize 2>&1 || fail "resize2fs: $(cat /tmp/resize)"
(($(stat -f -c '%b * %S' $MNT) > 64 << 20)) || fail "the file system does not grow"
expect "$sum" "$(tree_sum)" "the checksum of the files"

umount $MNT
e2fsck -fn $PLAIN >/tmp/fsck 2>&1 || { cat /tmp/fsck; fail "e2fsck"; }
run_expect 4 'in use' "$RDMABLK" disconnect rdmablk0
cryptsetup close secret
connect_again() {
	disconnect
	connect
}
connect_again
expect 0 "$(grep -ac "$TEXT" $FILE || :)" "places of the file with the data in clear"
unlock
mount $PLAIN $MNT
expect "$sum" "$(tree_sum)" "the checksum after all"
(($(grep -ac "$TEXT" $MNT/second) > 0)) || fail "the search for the data finds nothing"
umount $MNT
cryptsetup close secret
still_live
disconnect
