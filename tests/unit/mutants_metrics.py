# SPDX-License-Identifier: GPL-2.0-or-later
"""Mutants of the figures for monitoring systems, for tests/unit/mutants, which says what the
columns are."""

METRICS = "target/admin/control_answer.c"
QUEUE = "target/staged/write_queue.c"
MEMINFO = "target/base/meminfo.c"

TESTS = {"target_in_use_test": None, "target_lane_test": None, "target_memlock_test": None}

MUTANTS = [
    # --- exports
    ("figures of an export shrink while a session ends", "target_in_use_test", METRICS,
     "\t\tif (to[i] < from[i])\n", ""),
    ("sessions that are over are forgotten", "target_in_use_test", METRICS,
     "\tstore_add_counts(&now, &e->past);\n", ""),
    ("a session that has no export yet counts for it", "target_in_use_test", METRICS,
     "if (s->export == e && s->leased)", "if (s->export == e)"),
    ("commands of sessions that are over wait", "target_in_use_test", METRICS,
     "pending_of(&running)", "pending_of(&e->shown)"),
    ("the longest durations have an end", "target_in_use_test", METRICS,
     "i < LATENCY_BUCKETS - 1 ?", "i < LATENCY_BUCKETS ?"),
    # --- the daemon
    ("a limit of locked memory that does not count is shown", "target_memlock_test", MEMINFO,
     "\t    may_lock_anything())", "\t    (may_lock_anything() && false))"),
    # --- write queues
    ("a FLUSH with nothing to do is timed", "target_lane_test", QUEUE,
     "\ttag->began = 0;\n", "\ttag->began = latency_now();\n"),
    ("no FLUSH is timed", "target_lane_test", QUEUE, "\t\ttag->began = latency_now();\n",
     "\t\ttag->began = 0;\n"),
]
