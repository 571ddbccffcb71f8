#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The kernel's crypto layer gives the module everything that a login needs, without a module
# that the user must load first: it computes known answers, and refuses forged messages and
# points that are not on the curve.
#
# kernels: 6.1 6.12 newest
# in-turn: yes

# shellcheck source=tests/cases/login/lib.sh
source "$RDMABLK_TOP/tests/cases/login/lib.sh"

computes_what_others_do
