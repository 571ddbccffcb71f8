# SPDX-License-Identifier: GPL-2.0-or-later
"""Mutants of visits, for tests/unit/mutants, which says what the columns are."""

TEST = "target_visit_test"
VISIT = "target/session/visit.c"
LOGIN = "target/session/login.c"
SESSION = "target/session/session.c"
LIST = "target/session/session_list.c"
WIRE = "target/wire/wire.c"

TESTS = {TEST: None}

MUTANTS = [
    ("a host sees the exports of others", TEST, VISIT,
     "return h ? host_may(h, e) : ALLOW_READ | ALLOW_WRITE;",
     "return h ? ALLOW_READ | ALLOW_WRITE : ALLOW_READ;"),
    ("the address of the host does not matter", TEST, VISIT,
     "(networks && !value_in_networks(networks, session_peer(s)))", "(networks && !session_peer(s))"),
    ("a host that may read sees that it may write", TEST, VISIT,
     "bool write = rights_to(s, h, e) & ALLOW_WRITE && !e->cfg->read_only;",
     "bool write = rights_to(s, h, e) && !e->cfg->read_only;"),
    ("a page begins with the last name of the page before", TEST, VISIT,
     "if (strcmp(e->cfg->name, after) > 0 &&", "if (strcmp(e->cfg->name, after) >= 0 &&"),
    ("exports come in the order in which they were added", TEST, VISIT,
     "(!next || strcmp(e->cfg->name, next->cfg->name) < 0)", "!next"),
    ("no page says that another one follows", TEST, VISIT,
     "wire_pack_list(&list, nr, e);", "wire_pack_list(&list, nr, false);"),
    ("the sessions of this host count as those of others", TEST, VISIT,
     "if (!memcmp(held->host_id, s->lease.host_id, sizeof(held->host_id)))", "if (held == &s->lease)"),
    ("others that write look as if they read", TEST, VISIT,
     "(held->writer ? RDMABLK_LISTED_WRITTEN : 0)", "0"),
    ("a page does not renew the time of a visit", TEST, VISIT,
     "\tsession_login_timer(s);\n\treturn session_send(s, &list, sizeof(list));\n",
     "\treturn session_send(s, &list, sizeof(list));\n"),
    ("an answer does not renew the time of a visit", TEST, LOGIN,
     "\tif (s->state == SESSION_VISIT)\n\t\tsession_login_timer(s);\n", ""),
    ("a session in use may look round", TEST, LOGIN,
     "{ STATE(VISIT), visit_list }", "{ STATE(VISIT) | STATE(LIVE), visit_list }"),
    ("a visit is a refused login", TEST, SESSION,
     "\tif (visits)\n\t\tsession_audit_visit(s, reason);\n\telse if (!s->granted)\n",
     "\tif (visits && s->granted)\n\t\tsession_audit_visit(s, reason);\n"
     "\telse if (!s->granted)\n"),
    ("a silent visit keeps its slot", TEST, LIST,
     "s->state < SESSION_REGISTER && s->login.slot",
     "s->state < SESSION_VISIT && s->login.slot"),
    ("a visit may name an export", TEST, WIRE,
     "\t    (visit && hello->export_name[0]))\n", "\t    (visit && !hello->generation))\n"),
    ("a visit may have other flags", TEST, WIRE,
     "le32toh(hello->flags) == RDMABLK_HELLO_VISIT;",
     "le32toh(hello->flags) & RDMABLK_HELLO_VISIT;"),
    ("a name in LIST_GET needs no end", TEST, WIRE,
     "\tif (!name_ok(get.after, true))\n\t\treturn RDMABLK_R_MALFORMED;\n", ""),
]
