# SPDX-License-Identifier: GPL-2.0-or-later
"""Mutants of what lets an export move to another daemon, for tests/unit/mutants, which says
what the columns are."""

CONFIG = "target/config/config.c"
EXPORT = "target/export/export.c"
NONE = "target/staged/store_none.c"
STAGED = "target/staged/staged_io.c"

TESTS = {
    "target_moved_test": None,
}

MUTANTS = [
    ("a state of its own is that of the daemon", "target_moved_test", CONFIG,
     "\treturn ec->state ?: cfg->state_dir;\n", "\treturn ec ? cfg->state_dir : NULL;\n"),
    ("two daemons have one state", "target_moved_test", "target/base/state_file.c",
     "\tif (fd < 0 || !flock(fd, LOCK_EX | LOCK_NB))\n", "\tif (fd < 0 || fd)\n"),
    ("the state stays locked when the export is closed", "target_moved_test", EXPORT,
     "\t\texport_forget_writer(e);\n\tunlock_state(e);\n", "\t\texport_forget_writer(e);\n"),
    ("the state stays locked when the store cannot be opened", "target_moved_test", EXPORT,
     "\tif (ret) {\n\t\tunlock_state(e);\n", "\tif (ret) {\n"),
    ("the state is made", "target_moved_test", EXPORT,
     "\te->state_lock = state_file_lock(path);\n",
     "\tstate_file_make_dir(ec->state);\n\te->state_lock = state_file_lock(path);\n"),
    ("the epoch ends with the boot", "target_moved_test", NONE,
     "\tif (!ret && ec->epoch == EPOCH_STABLE)\n", "\tif (!ret && !ec->file)\n"),
    ("hosts are told of a cache", "target_moved_test", NONE,
     "!none->staged.through && !write_through(&none->file)", "!write_through(&none->file)"),
    ("the file is replaced and nobody sees it", "target_moved_test",
     "target/store/file_identity.c", "f->block_device ? 0 : f->ino };", "0 };"),
    ("a write is answered before it is durable", "target_fua_test", STAGED,
     "io->op == RDMABLK_OP_WRITE && io->engine->file->through;", "false;"),
    ("zeroes are answered before they are durable", "target_fua_test", STAGED,
     "\tif (status != RDMABLK_OK || !io->engine->file->through) {\n",
     "\tif (status != RDMABLK_OK || io->bytes) {\n"),
    ("what another host did in between is not looked for", "target_last_writer_end_test", EXPORT,
     "\tmemset(&e->notes, 0, sizeof(e->notes));\n", ""),
    ("a stable epoch is of memory, too", "target_config_test", CONFIG,
     "\t{ \"epoch\", KIND_NONE },\n", ""),
]
