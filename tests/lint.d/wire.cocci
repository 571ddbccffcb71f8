// SPDX-License-Identifier: GPL-2.0-only
// A message is never looked at in the buffer it came in: the peer's bytes are hostile
// and may be unaligned. wire.c copies them out; nothing else casts a buffer.
virtual report

@cast@
expression E;
position p;
@@
(
 (struct rdmablk_hdr *)E@p
|
 (const struct rdmablk_hdr *)E@p
|
 (struct rdmablk_answer *)E@p
|
 (const struct rdmablk_answer *)E@p
|
 (struct rdmablk_grant *)E@p
|
 (const struct rdmablk_grant *)E@p
|
 (struct rdmablk_regions *)E@p
|
 (const struct rdmablk_regions *)E@p
|
 (struct rdmablk_close *)E@p
|
 (const struct rdmablk_close *)E@p
)

@script:python depends on report@
p << cast.p;
@@
coccilib.report.print_report(p[0], "ERROR: a message is copied out before it is looked at")
