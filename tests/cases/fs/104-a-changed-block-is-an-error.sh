#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Documentation/recipes/encrypt.rst: the target changes blocks behind the host's back. LUKS2 alone
# returns wrong data. With a tag for each sector a read of such a block is an error, and all
# other blocks have their data.
#
# kernels: 6.12
# timeout: 600

# shellcheck source=tests/cases/store/lib.sh
source "$RDMABLK_TOP/tests/cases/store/lib.sh"
# shellcheck source=tests/cases/fs/luks.sh
source "$RDMABLK_TOP/tests/cases/fs/luks.sh"
require cryptsetup mkfs.ext4

FILE=$DISK/file

# blocks VERB: 'write' gives each block of the disk its number; 'read' prints how many reads
# are right, wrong, and fail with EILSEQ
blocks() {
	python3 - "$1" "$PLAIN" <<'END'
import errno
import mmap
import os
import sys

SIZE = 4096
verb, path = sys.argv[1:]
fd = os.open(path, os.O_RDWR | os.O_DIRECT)
blocks = os.lseek(fd, 0, os.SEEK_END) // SIZE
if verb == "write":
    data = mmap.mmap(-1, blocks * SIZE)
    for i in range(blocks):
        data.write(b"%*d" % (SIZE, i))
    assert os.pwrite(fd, data, 0) == len(data)
    os.fsync(fd)
else:
    data = mmap.mmap(-1, SIZE)
    right = wrong = failed = 0
    for i in range(blocks):
        try:
            assert os.preadv(fd, [data], i * SIZE) == SIZE
        except OSError as e:
            assert e.errno == errno.EILSEQ, e
            failed += 1
            continue
        if data[:] == b"%*d" % (SIZE, i):
            right += 1
        else:
            wrong += 1
    print(right, wrong, failed)
END
}

# change_file: one byte of some blocks in the second half of the file, where the data is
change_file() {
	local size i

	size=$(stat -c %s $FILE)
	for ((i = size / 2; i < size; i += 1 << 20)); do
		printf '\xa5\x5a' | dd of=$FILE bs=1 seek=$((i + 100)) conv=notrunc,fsync status=none
	done
}

# changed WORDS: runs the commands of the page's block; sets RIGHT, WRONG and FAILED, which
# reads find after the target has changed its file
changed() {
	luks "$1"
	blocks write
	# Closing writes the journal back.
	cryptsetup close secret
	change_file
	cryptsetup open $DEV secret
	read -r RIGHT WRONG FAILED < <(blocks read)
	echo "$RIGHT right, $WRONG wrong, $FAILED failed"
	cryptsetup close secret
}

for module in dm_crypt dm_integrity; do
	modprobe -q $module || skip "no module $module"
done
ram_disk 96
file_system
truncate -s 32M $FILE
serve_file $FILE
load_module
connect
random_file 64 /tmp/key
changed 'no data in clear'
((WRONG > 0 && FAILED == 0)) || fail "LUKS alone finds $FAILED of $WRONG changed blocks"
changed 'an authentication tag'
((WRONG == 0 && FAILED > 0 && RIGHT > FAILED)) ||
	fail "$WRONG blocks are wrong, $FAILED reads fail, $RIGHT blocks are right"
dmesg_has 'INTEGRITY AEAD ERROR' || fail "the kernel log does not say it"

# What the page says that such a disk cannot do
run_expect 1 'Discard/TRIM is not supported' cryptsetup open --allow-discards $DEV secret
cryptsetup open $DEV secret
truncate -s 48M $FILE
"$RDMABLK" target resize disk0 >/dev/null
larger() {
	(($(blockdev --getsize64 $DEV) == 48 << 20))
}
wait_until "$PATIENCE" larger || fail "the disk does not grow"
size=$(blockdev --getsize64 $PLAIN)
run_expect 1 'Unsupported parameters on device secret' \
	cryptsetup resize --key-file /tmp/key secret
expect "$size" "$(blockdev --getsize64 $PLAIN)" "the size of the encrypted disk"
cryptsetup close secret
still_live
disconnect
