#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A target with cache=full loses power: under writers, after a flush, and after a write, with a
# file and with a block device. When it is back the store has the data of each fsync that has
# returned. The disk goes on when no other data is missing; else it fails and says why.
#
# net: two
# disk: 64M
# timeout: 1800

# shellcheck source=tests/cases/store/power.sh
source "$RDMABLK_TOP/tests/cases/store/power.sh"

power_failures full file disk
