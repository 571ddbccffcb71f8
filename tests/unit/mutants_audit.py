# SPDX-License-Identifier: GPL-2.0-or-later
"""Mutants of the audit log, for tests/unit/mutants, which says what the columns are."""

AUDIT = "target/base/audit.c"
LINES = "target/base/lines.c"
SESSION = "target/session/session_audit.c"
ADMIN = "target/admin/admin_request.c"
TEST = "target_audit_test"

TESTS = {TEST: None}

MUTANTS = [
    ("a lost line takes no number", TEST, AUDIT,
     "\taudit.seq++;\n\tif (len > 1 && len < AUDIT_LINE && !lines_put(&ring, text, (size_t)len))\n"
     "\t\taudit.lost = 0;\n",
     "\tif (len > 1 && len < AUDIT_LINE && !lines_put(&ring, text, (size_t)len))\n"
     "\t\taudit.seq++, audit.lost = 0;\n"),
    ("lost lines are not counted", TEST, AUDIT, "\t\taudit.lost++;\n", "\t\taudit.lost = 0;\n"),
    ("lost lines are counted for ever", TEST, AUDIT,
     "(size_t)len))\n\t\taudit.lost = 0;\n", "(size_t)len))\n\t\taudit.lost += 0;\n"),
    ("a line that comes when the ring is full overwrites one", TEST, LINES,
     "\t} else if (l->count == l->nr) {\n\t\tret = -ENOBUFS;\n", ""),
    ("a line that the disk does not take is given up", TEST, AUDIT,
     "\twhile (at < len) {\n\t\tpoll(", "\twhile (at > len) {\n\t\tpoll("),
    ("the rest of a line is written to another file", TEST, AUDIT, "\t\t\tat = 0;\n", ""),
    ("the line begins again after each error", TEST, AUDIT,
     "\t\tat += write_some(line + at, len - at);\n", "\t\tat = write_some(line, len);\n"),
    ("a full disk keeps the file from being opened again", TEST, AUDIT,
     "\t\tif (atomic_load(&audit.reopen)) {\n\t\t\treopen_now();\n\t\t\tat = 0;\n\t\t}\n", ""),
    ("texts of peers are written as they are", TEST, AUDIT, "\tvalue_utf8(copy);\n", ""),
    ("refusals of an address are without number", TEST, AUDIT,
     "\tif (p->count == AUDIT_BURST) {\n", "\tif (p->count > 1000000) {\n"),
    ("all addresses share the lines of refusals", TEST, AUDIT,
     "find_peer(log_peer_key(peer))", "find_peer(!log_peer_key(peer))"),
    ("an address has no lines after its window", TEST, AUDIT,
     " || now - p->start > audit_window_ms) {\n", ") {\n"),
    ("refusals that are left out are not counted", TEST, AUDIT, "\t\tp->left_out++;\n", ""),
    ("refusals that are left out are counted for ever", TEST, AUDIT,
     "\t\tp->left_out = 0;\n", ""),
    ("an address that makes room is forgotten with its count", TEST, AUDIT,
     "\taudit.left_out += oldest->left_out;\n", ""),
    ("the newest address makes room", TEST, AUDIT,
     "\t\tif (p->start < oldest->start)\n", "\t\tif (p->start > oldest->start)\n"),
    ("the last line counts no refusals", TEST, AUDIT,
     "\t\tsum += audit.peer[i].left_out;\n", ""),
    ("nothing is opened again", TEST, AUDIT, "\tatomic_store(&audit.reopen, true);\n", ""),
    ("a file that cannot be opened again ends the log", TEST, AUDIT,
     "\t\t\taudit.path, open_error(fd));\n\t\treturn;\n",
     "\t\t\taudit.path, open_error(fd));\n"),
    ("the log follows symbolic links", TEST, AUDIT, " | O_NOFOLLOW", ""),
    ("the log waits for the reader of a pipe", TEST, AUDIT, "\n\t\t      O_NONBLOCK |", ""),
    ("the log may be any file", TEST, AUDIT,
     "S_ISREG(st.st_mode) ? 0 : -ENXIO", "0"),
    ("the log begins with an empty file", TEST, AUDIT, "O_APPEND |", "O_TRUNC |"),
    ("everybody may read the log", TEST, AUDIT, "O_NOCTTY, 0600)", "O_NOCTTY, 0644)"),
    ("the line of a theft does not name the loser", TEST, SESSION,
     "\taudit_id(lost, \"session_id\", loser->id);\n\tadd_host(lost, loser);\n",
     "\taudit_id(lost, \"session_id\", loser ? s->id : 0);\n\tadd_host(lost, s);\n"),
    ("a writer has its line as a reader", TEST, SESSION, "!s->lease.writer", "s->lease.writer"),
    ("a theft has its line as a plain login", TEST, SESSION,
     "s->hello.flags & RDMABLK_HELLO_STEAL", "s->hello.flags & RDMABLK_HELLO_RESUME"),
    ("the line of a refusal does not name the right to steal", TEST, SESSION,
     "s->proof.no_steal ? \"no rw+steal in allow of the export\" : NULL", "NULL"),
    ("a host with another host id is said to lack its key", TEST, SESSION,
     "\tif (s->proof.name[0])\n\t\treturn s->export", "\tif (s->export)\n\t\treturn s->export"),
    ("a message that is not sealed is said to be a host id", TEST, SESSION,
     "return s->export ? \"a message", "return !s ? \"a message"),
    ("the line of a change does not name its user", TEST, ADMIN, "a->uid);", "0);"),
    ("SIGHUP is not told from the control socket", TEST, ADMIN, "a->by_signal ? ", "!a->op ? "),
    ("what stays as it was is said to change", TEST, ADMIN,
     "\t\tif (!c->action || strcmp(c->action, \"kept\"))\n", "\t\tif (c)\n"),
    ("what a reload could not do is not said", TEST, ADMIN,
     "\t\tif (!c->action || strcmp", "\t\tif (c->action && strcmp"),
]
