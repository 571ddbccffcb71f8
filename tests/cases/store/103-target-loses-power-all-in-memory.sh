#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A target with cache=full loses power, under writers, after a flush, after a write, on a
# file and on a block device. When it is back the store has what an fsync had returned
# for; the disk goes on when nothing else is missing, else it fails and says why.
#
# net: two
# disk: 64M
# timeout: 1800

# shellcheck source=tests/cases/store/power.sh
source "$RDMABLK_TOP/tests/cases/store/power.sh"

power_failures full file disk
