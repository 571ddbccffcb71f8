# SPDX-License-Identifier: GPL-2.0-or-later
"""Mutants of what an operator asks the daemon for, for tests/unit/mutants, which says what the
columns are."""

ADMIN = "target/admin/admin.c"
SAVE = "target/admin/admin_save.c"
SESSION = "target/session/session.c"
CAPTIVE = "target/base/captive.c"
CONFIG = "target/config/config.c"

TESTS = {"target_admin_test": None, "target_captive_test": None, "target_in_use_test": None}

MUTANTS = [
    # --- kick
    ("a host is kicked with those whose names begin alike", "target_in_use_test", ADMIN,
     "!strcmp(session_host(s), name);", "!strncmp(session_host(s), name, strlen(name));"),
    ("the name that a host has proven does not count", "target_in_use_test", SESSION,
     "\treturn s->version == RDMABLK_VERSION_PROVEN ? s->proof.name : s->hello.host_name;\n",
     "\treturn s->hello.host_name;\n"),
    ("a host with a key is kicked by what it calls itself", "target_in_use_test", ADMIN,
     "\treturn !strcmp(id, name) || ",
     "\treturn !strcmp(id, name) || !strcmp(s->hello.host_name, name) || "),
    ("a kick waits for other requests", "target_in_use_test", ADMIN,
     "\tif (a->op == ADMIN_KICK) {\n",
     "\tif (a->op == ADMIN_KICK && TAILQ_EMPTY(&admin.queue)) {\n"),
    ("a session that is ending is kicked again", "target_in_use_test", ADMIN,
     "s->state < SESSION_CLOSING && is_named(s, a->name)", "is_named(s, a->name)"),
    ("a device that was kicked is not expected", "target_in_use_test", SESSION,
     "\tcase RDMABLK_R_AUTH_KEY:\n\tcase RDMABLK_R_KICKED:\n\t\treturn session_has_written(s);\n",
     "\tcase RDMABLK_R_AUTH_KEY:\n\t\treturn session_has_written(s);\n"),
    ("a live session waits for its end", "target_in_use_test", SESSION,
     "\tif (s->state < SESSION_CLOSING)\n\t\treturn NULL;\n", ""),
    # --- reload
    ("a reload goes on inside its last step", "target_admin_test", ADMIN,
     "\tif (reload.looping) {\n\t\treload.again = true;\n\t\treturn;\n\t}\n", ""),
    ("a file that got shorter takes unflushed writes with it", "target_in_use_test",
     "target/admin/admin_step.c", "\tif (export_lacks(e)) {\n", "\tif (0) {\n"),
    ("a session that is ending has written nothing", "target_in_use_test",
     "target/export/export.c", "\t\tif (lease->let_write)\n", "\t\tif (0)\n"),
    ("an export is not in use during an outage", "target_admin_test",
     "target/admin/admin_step.c", "\tif (e->awaited > loop_now() && !force) {\n", "\tif (0) {\n"),
    ("force waits for disks, too", "target_admin_test", "target/admin/admin_step.c",
     "\tif (e->awaited > loop_now() && !force) {\n", "\tif (e->awaited > loop_now()) {\n"),
    ("the disk of a memory store is not expected", "target_in_use_test", SESSION,
     "\tcase RDMABLK_R_KICKED:\n\t\treturn session_has_written(s);\n",
     "\tcase RDMABLK_R_KICKED:\n\t\treturn session_has_cache(s);\n"),
    ("the end of the daemon waits for disks of memory", "target_in_use_test",
     "target/export/export.c", "e->state == EXPORT_READY && e->store.ops->behind &&\n",
     "e->state == EXPORT_READY &&\n"),
    # --- save
    ("what was saved is forgotten when it is read again", "target_admin_test", SAVE,
     "else if (said || e->by_hand)", "else if (e->by_hand)"),
    ("what the administrator has written is saved, too", "target_admin_test", SAVE,
     "\t\tif (said && !is_ours(said->where))\n", "\t\tif (said && is_ours(\"\"))\n"),
    ("what was removed is not named", "target_admin_test", SAVE,
     "if (!is_ours(said->where) && !export_by_name(said->name))",
     "if (is_ours(said->where) && !export_by_name(said->name))"),
    ("a size that has changed is saved as it was given", "target_admin_test", SAVE,
     "!strncmp(line, \"size = \", 7) || ", ""),
    ("a text is not read again", "target_admin_test", SAVE, "\tcheck_text(a->text);\n",
     "\t(void)check_text;\n"),
    ("a limit that has changed is saved as it was", "target_admin_test", CONFIG,
     "\tconfig_take_text(&ec->lines, now->lines);\n", ""),
    # --- a command
    ("the command begins without the word", "target_captive_test", CAPTIVE,
     "\tif (n != 1)\t/*", "\tif (n > 1)\t/*"),
    ("nothing says why the shell does not run", "target_captive_test", CAPTIVE,
     "log_err(\"cannot run", "log_debug(\"cannot run"),
    ("a shell that cannot be run counts as not found", "target_captive_test", CAPTIVE,
     "error == ENOENT ? NOT_FOUND : NOT_RUN", "error ? NOT_FOUND : NOT_RUN"),
    ("a command that was not begun has a status", "target_captive_test", CAPTIVE,
     "return captive.ended && captive.over ? ", "return captive.over ? "),
    ("the command finds the URI of another daemon", "target_captive_test", CAPTIVE,
     ": unsetenv(\"RDMABLK_URI\");", ": 0;"),
    ("the status of the command is lost", "target_captive_test", CAPTIVE,
     "return captive.over ? captive.status : EXIT_FAILED;", "return EXIT_DONE;"),
    ("a failure of the daemon is the status of the command", "target_captive_test", CAPTIVE,
     "\tif (status != EXIT_DONE)\n\t\treturn status;\n\treturn captive", "\treturn captive"),
    ("a signal is not passed on", "target_captive_test", CAPTIVE,
     "syscall(SYS_pidfd_send_signal, captive.process.fd, signo, NULL, 0);", "(void)signo;"),
    ("the command has descriptors of the daemon", "target_captive_test", CAPTIVE,
     "pipe2(ends, O_CLOEXEC)", "pipe2(ends, 0)"),
]
