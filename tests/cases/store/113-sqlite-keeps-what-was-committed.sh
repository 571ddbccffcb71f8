#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Two SQLite databases on ext4, one with a write-ahead log and one with a rollback journal. The
# daemon is killed again and again. With a cached file and a kept arena, and with an uncached
# file, the databases do not notice. Without a kept arena unflushed data is lost, the disk
# fails, and so do the databases; connected again, ext4 and SQLite recover. Each time every
# committed transaction is there exactly once, and no other is; SQLite's own check finds
# nothing. A daemon that does not flush is found out.
#
# mem: 1536
# timeout: 900

# shellcheck source=tests/cases/store/database.sh
source "$RDMABLK_TOP/tests/cases/store/database.sh"
require mkfs.ext4 e2fsck

KINDS=(sqlite-wal sqlite-rollback)

load_module
ram_disk 160
file_system
databases_make 64M
unnoticed cache=full,arena=/dev/shm/arena
rm /dev/shm/arena
unnoticed cache=none
crashes 3 cache=full failed
crashes 3 cache=none live
nothing_kept
unload_module
