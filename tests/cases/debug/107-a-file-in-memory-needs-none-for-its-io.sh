#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A cached file: while every allocation of the module fails, reads, writes, FLUSHes, FUA writes,
# DISCARDs and WRITE ZEROES go on side by side without allocating memory, also on a disk whose
# load polls. When the daemon is killed and started again meanwhile, each try to reconnect
# fails, but no request does. When memory is back, the disk comes back.
#
# kernels: debug
# allow: FAULT_INJECTION

# shellcheck source=tests/cases/debug/lib.sh
source "$RDMABLK_TOP/tests/cases/debug/lib.sh"

io_of_a_file_needs_no_memory full
