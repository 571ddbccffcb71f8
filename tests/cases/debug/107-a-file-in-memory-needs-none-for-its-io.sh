#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A file that the target has in its memory: while each allocation of the module fails,
# reads, writes, FLUSHes, FUA writes, DISCARDs and WRITE ZEROES go on beside each other and
# ask for none, and so they do on a disk whose load polls. When the daemon is killed and
# started again meanwhile, one try after the other fails and no request does; with memory
# the disk comes back.
#
# kernels: debug
# allow: FAULT_INJECTION

# shellcheck source=tests/cases/debug/lib.sh
source "$RDMABLK_TOP/tests/cases/debug/lib.sh"

io_of_a_file_needs_no_memory full
