# SPDX-License-Identifier: GPL-2.0-or-later
"""Mutants of arenas that outlive their daemon, and of holes in them, for tests/unit/mutants,
which says what the columns are."""

ARENA = "target/store/arena.c"
FILE = "target/store/file.c"
FULL = "target/store/full.c"
STORE = "target/store/store_full.c"

TESTS = {
    "target_guard_test": None,
    "target_kept_test": None,
}

MUTANTS = [
    ("writes of another program are the arena's", "target_kept_test", STORE,
     "\tint ret = file_epoch(&full->file, file.id);\n\n\tif (!ret)\n\t\tarena_clean(",
     "\tint ret = file_epoch(&full->file, file.id);\n\n"
     "\tfile_stamp(&full->file, &file.stamp);\n\tif (!ret)\n\t\tarena_clean("),
    ("the time of the last write tells all", "target_kept_test", FILE,
     "\t\t.changed_sec = st.st_ctim.tv_sec,\n\t\t.changed_nsec = st.st_ctim.tv_nsec,\n", ""),
    ("an arena is filled from a file that changes", "target_kept_test",
     STORE,
     "\tsettle_stamp(full);\n\treturn fill(store, blank);\n",
     "\t(void)full;\n\treturn fill(store, blank);\n"),
    ("a file may change in the tick in which it is closed", "target_kept_test",
     STORE, "\tif (!ret && store->kept)\n\t\tsettle_stamp(full);\n",
     ""),
    ("a hole is not looked for at the start", "target_guard_test", ARENA,
     "\tif (st.st_size && has_hole(store->fd, store->mapped))\n",
     "\tif (!st.st_size && has_hole(store->fd, store->mapped))\n"),
    ("a hole is not looked for at the end", "target_guard_test", ARENA,
     "arena_guard_broken(store->guard) || has_hole(store->fd, store->mapped)",
     "arena_guard_broken(store->guard)"),
    ("a page that a thread has missed comes back", "target_guard_test", ARENA,
     "arena_guard_broken(store->guard) || has_hole(store->fd, store->mapped)",
     "has_hole(store->fd, store->mapped)"),
    ("a hole for a moment is a loss", "target_guard_test", ARENA,
     "i < HOLE_LOOKS; i++", "i < 1; i++"),
    ("a hole is filled before it is noted", "target_guard_test", ARENA,
     "\tmark_lost(t);\n\tarena_guard_del(guard);\n", "\tarena_guard_del(guard);\n"),
    ("an arena that was being filled is a rest", "target_guard_test", ARENA,
     " && t->state == ARENA_COMPLETE)\n\t\t__atomic", ")\n\t\t__atomic"),
    ("what is left of an arena has its epoch", "target_guard_test", ARENA,
     "\tif (t->state == ARENA_LOST)\n\t\treturn mac_random(store->epoch, sizeof(store->epoch));\n",
     ""),
    ("what is left of an arena goes over its file", "target_kept_test", ARENA,
     "(t->state == ARENA_LOST && !ec->file)", "t->state == ARENA_LOST"),
    ("an arena that has lost a page is any file's", "target_kept_test", ARENA,
     "t->state != ARENA_FILLING && memcmp", "t->state == ARENA_COMPLETE && memcmp"),
    ("an arena that has lost a page is as its file", "target_kept_test",
     ARENA,
     "arena_guard_broken(store->guard) || has_hole(store->fd, store->mapped)",
     "has_hole(store->fd, store->mapped)"),
    ("writes of the daemon are another program's", "target_kept_test", FULL,
     "\tfile_stamp(&full->file, &full->stamp);\n", ""),
]
