#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A PostgreSQL server has its cluster on ext4. The daemon is killed again and again. With a
# cached file and a kept arena, and with an uncached file, the server does not notice. Without a
# kept arena unflushed data is lost, the disk fails, and the server gives up; connected again,
# ext4 and PostgreSQL recover. Each time every committed transaction is there exactly once, and
# no other is; tables, indexes, checksums of pages and a dump are without fault. A daemon that
# does not flush is found out.
#
# mem: 2048
# timeout: 1800

# shellcheck source=tests/cases/store/database.sh
source "$RDMABLK_TOP/tests/cases/store/database.sh"
# shellcheck source=tests/cases/store/postgres.sh
source "$RDMABLK_TOP/tests/cases/store/postgres.sh"
require mkfs.ext4 e2fsck

load_module
ram_disk 240
file_system
databases_make 128M
unnoticed cache=full,arena=/dev/shm/arena
rm /dev/shm/arena
unnoticed cache=none
crashes 2 cache=full failed
crashes 1 cache=none live
nothing_kept
unload_module
