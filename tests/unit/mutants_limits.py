# SPDX-License-Identifier: GPL-2.0-or-later
"""Mutants of what keeps one peer from taking the daemon from the others, for
tests/unit/mutants, which says what the columns are."""

WORKER = "target/base/worker.c"
THREAD = "target/base/thread.c"
LIST = "target/session/session_list.c"
QUOTA = "target/export/quota.c"
OPEN = "target/session/session_open.c"
LOG = "target/base/log.c"
LINES = "target/base/lines.c"

TESTS = {
    "target_worker_test": None,
    "target_logins_test": None,
    "target_log_test": None,
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
    ("threads take signals of the process", "target_worker_test", THREAD,
     "\tpthread_sigmask(SIG_BLOCK, &all, &old);\n",
     "\tpthread_sigmask(SIG_BLOCK, NULL, &old);\n"),
    ("a thread that misses a page of an arena is killed", "target_worker_test", THREAD,
     "\tsigdelset(&all, SIGBUS);\n", ""),
    ("the caller takes no signals after it has started a thread", "target_worker_test", THREAD,
     "\tpthread_sigmask(SIG_SETMASK, &old, NULL);\n", ""),
    ("threads have the name of the daemon", "target_worker_test", THREAD,
     "\tpthread_setname_np(pthread_self(), begin.name);\n", ""),
    ("a worker ends with jobs that it has not run", "target_worker_test", WORKER,
     "\twhile (!(job = dequeue(&w->todo)) && !w->stop)\n",
     "\twhile (!w->stop && !(job = dequeue(&w->todo)))\n"),
    ("a job that its owner has freed is touched", "target_worker_test", WORKER,
     "\t\tif (tell)\n", "\t\tif (tell || job->done)\n"),
    ("a worker that hangs is waited for", "target_worker_test", WORKER,
     "\tif (!seconds)\n", "\tif (seconds == 1)\n"),
    ("jobs of all peers are those of one client", "target_logins_test", "target/session/session.c",
     "\ts->job.client = value_ip(session_peer(s));\n", ""),
    # --- slots of logins
    ("a silent login keeps its slot", "target_logins_test", "target/session/listener.c",
     "\tif (!silent)\n\t\treturn reason;\n", "\tif (reason)\n\t\treturn reason;\n"),
    ("a login is silent at once", "target_logins_test", LIST,
     "loop_now() - s->heard.last >= SILENT_MS", "loop_now() >= s->heard.last"),
    ("the login that was heard last makes room", "target_logins_test", LIST,
     "s->heard.last <= silent->heard.last", "s->heard.last > silent->heard.last"),
    ("a login without PROOF keeps its slot", "target_logins_test", LIST,
     "(s->state == SESSION_HELLO || s->state == SESSION_PROOF)", "s->state == SESSION_HELLO"),
    ("a login is silent while its queue is made", "target_logins_test", LIST,
     "\t       !s->busy && ", "\t       "),
    ("the time of a login begins before it is connected", "target_logins_test", OPEN,
     "\ts->heard.last = loop_now();\n", ""),
    ("a login makes room that is of no use", "target_logins_test", LIST,
     " &&\n\t\t    quota_login_would(peer, session_peer(s)))\n",
     " && (peer || s->id))\n"),
    ("logins that made room are without number", "target_logins_test", QUOTA,
     "\treturn limits.evicted < limits.cfg->max_logins &&\n\t       login",
     "\treturn login"),
    ("logins that made room are counted for ever", "target_logins_test", QUOTA,
     "\tlimits.evicted--;\n", ""),
    ("one known address has all slots of known ones", "target_logins_test", QUOTA,
     " && own < (kept + 1) / 2;\n", ";\n"),
    ("no slots are reserved", "target_logins_test", QUOTA,
     "\tif (all < max - kept)\n", "\tif (all < max)\n"),
    ("reserved slots are for anybody", "target_logins_test", QUOTA,
     "all < max && is_known(a) && own", "all < max && (a || !a) && own"),
    # --- lines about peers
    ("peers share the lines of a place", "target_log_test", LOG,
     "\tuint64_t key = log_peer_key(peer);\n", "\tuint64_t key = !log_peer_key(peer);\n"),
    ("places share the lines of a peer", "target_log_test", LOG,
     "\tuint64_t hash = mix(mix(budgets.seed ^ peer) ^ (uintptr_t)place);\n",
     "\tstatic const char *any;\n"
     "\tuint64_t hash = mix(mix(budgets.seed ^ peer) ^ (uintptr_t)(place = any = any ?: place));\n"),
    ("each address of an IPv6 network has lines of its own", "target_log_test", LOG,
     "&peer->sin6_addr.s6_addr[local ? sizeof(key) : 0]", "&peer->sin6_addr.s6_addr[sizeof(key)]"),
    ("peers fill the ring", "target_log_test", LOG,
     "\tallowed = !is_short && b->count < LOG_BURST;\n",
     "\tallowed = (is_short || !is_short) && b->count < LOG_BURST;\n"),
    ("lines of a budget that makes room are forgotten", "target_log_test", LOG,
     "\t\tif (evicted)\n\t\t\tbudget_leave(b);\n", ""),
    ("what is left out is said before the next line only", "target_log_test", LINES,
     "\t\tif (say_in_time(l))\n", "\t\tif (!l->nr && say_in_time(l))\n"),
    ("the last lines that were left out are forgotten", "target_log_test", LOG,
     "\tsay_left_out(true);\n", ""),
    ("one number is for all places", "target_log_test", LOG,
     "\twhile (left < last && left->place && left->place != b->place)\n",
     "\twhile (left < last && left->place && !b->place)\n"),
    ("a number is said for ever", "target_log_test", LOG, "\tleft->nr = 0;\n", ""),
]
