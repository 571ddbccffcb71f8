# SPDX-License-Identifier: GPL-2.0-or-later
"""Mutants of what keeps one peer from taking the daemon from the others, for
tests/unit/mutants, which says what the columns are."""

WORKER = "target/base/worker.c"

TESTS = {
    "target_worker_test": None,
}

MUTANTS = [
    # --- turns of workers
    ("jobs run in the order in which they came", "target_worker_test", WORKER,
     "\t\tif (!memcmp(&first->client, &job->client, sizeof(job->client))) {\n",
     "\t\tif (first == job) {\n"),
    ("a client that has its turn keeps it", "target_worker_test", WORKER,
     "\tTAILQ_INSERT_TAIL(todo, next, entry);\n", "\tTAILQ_INSERT_HEAD(todo, next, entry);\n"),
    ("a client's last job runs first", "target_worker_test", WORKER,
     "\t\t\tTAILQ_INSERT_TAIL(&first->behind, job, entry);\n",
     "\t\t\tTAILQ_INSERT_HEAD(&first->behind, job, entry);\n"),
    ("a new client goes before those that wait", "target_worker_test", WORKER,
     "\tTAILQ_INSERT_TAIL(todo, job, entry);\n", "\tTAILQ_INSERT_HEAD(todo, job, entry);\n"),
]
