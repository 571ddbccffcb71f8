// SPDX-License-Identifier: GPL-2.0-only
// The state of a session is changed by rdmablk_session_set() alone, which asks the
// table; and set once by what creates the session.
virtual report

@allowed@
struct rdmablk_session *s;
expression E;
position p;
@@
(
 s->state@p = RDMABLK_DEV_NEW
|
 s->state@p = E
|
 WRITE_ONCE(s->state@p, E)
)

@script:python depends on report@
p << allowed.p;
@@
may = {"rdmablk_session_set", "rdmablk_session_alloc"}
if p[0].current_element not in may:
    coccilib.report.print_report(p[0], "ERROR: the state is changed outside rdmablk_session_set()")
