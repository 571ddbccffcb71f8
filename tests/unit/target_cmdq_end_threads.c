// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * target_cmdq_end_test with ThreadSanitizer, which sees memory that two threads use at once.
 *
 * Sources: target/session/cmdq.c target/staged/lane.c target/base/ring.c
 */
#include "target_cmdq_end_test.c"
