#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The kernel's crypto layer gives the module all that a login needs, without a module that
# the user must load first: known answers, and the refusal of what is forged or no point of
# the curve.
#
# kernels: 6.1 6.12 newest
# in-turn: yes

# shellcheck source=tests/cases/login/lib.sh
source "$RDMABLK_TOP/tests/cases/login/lib.sh"

computes_what_others_do
