# SPDX-License-Identifier: GPL-2.0-or-later
"""Mutants of hosts, their keys and their rights, for tests/unit/mutants, which says what the
columns are."""

HOST = "target/export/host.c"
SECRET = "target/base/secret.c"
VALUE = "target/base/value.c"
KEY_FILE = "target/base/key_file.c"
VALUE = "target/base/value.c"
NEAR = "target/base/near.c"
DROP_IN = "target/base/drop_in.c"
CONFIG_FILE = "target/config/config_file.c"
CONFIG = "target/config/config.c"
KEYS = "target/config/config_keys.c"
IDENTITY = "target/export/identity.c"
KEY = "target/session/session_key.c"
ADMIN = "target/admin/admin_host.c"
TEST, CHANGE, FILES = "target_host_test", "target_host_change_test", "target_config_test"

TESTS = {TEST: None, CHANGE: None}

MUTANTS = [
    # --- key files
    ("others may have rights to a key file", TEST, KEY_FILE,
     "if (st.st_mode & 0077 & ~more)", "if (st.st_mode & 0007 & ~more)"),
    ("a key file may be of any user", TEST, KEY_FILE,
     "if (st.st_uid && st.st_uid != geteuid())", "if (0)"),
    ("a key file may be a symbolic link", TEST, KEY_FILE, "O_RDONLY | O_NOFOLLOW |", "O_RDONLY |"),
    ("the checksum of a key does not count", TEST, KEY_FILE,
     "ok = !memcmp(sum, key->work + KEY_FILE_SECRET_LEN, sizeof(sum));", "ok = true;"),
    ("a file near the credentials is one of them", TEST, KEY_FILE, "path[len] == '/' &&\n", "\n"),
    ("a file below the credentials is one of them", TEST, KEY_FILE,
     "!strchr(path + len + 1, '/') ? CREDENTIAL : 0", "path[len + 1] ? CREDENTIAL : 0"),
    ("credentials have no more rights than others", TEST, KEY_FILE,
     "#define CREDENTIAL\t0040", "#define CREDENTIAL\t0000"),
    ("the group may write a credential", TEST, KEY_FILE,
     "#define CREDENTIAL\t0040", "#define CREDENTIAL\t0060"),
    ("a wrong credential is passed over", TEST, KEY_FILE, "if (err != ENOENT)\n\t\treturn err;",
     "if (!err)\n\t\treturn err;"),
    ("two hosts may have one key", TEST, HOST, "if (other)\n\t\t\t\tconfig_error(cfg, h->cfg->where,\n\t\t\t\t\t     \"host \\\"%s\\\": key %s is",
     "if (!h)\n\t\t\t\tconfig_error(cfg, h->cfg->where,\n\t\t\t\t\t     \"host \\\"%s\\\": key %s is"),
    ("two hosts may have one id", FILES, CONFIG,
     "if (other->has_id && !memcmp(other->host_id, hc->host_id, RDMABLK_ID_LEN))", "if (0)"),
    # --- memory
    ("keys are not locked", TEST, SECRET, "!mlock2(secret, len, 0) && ", ""),
    ("keys are in core dumps", TEST, SECRET, "!madvise(secret, len, MADV_DONTDUMP) &&", "1 &&"),
    ("keys are in children", TEST, SECRET, "!madvise(secret, len, MADV_WIPEONFORK))", "1)"),
    ("the key of a removed host stays", TEST, HOST,
     "\t\texplicit_bzero(h->key[i].secret, KEY_FILE_SECRET_LEN);\n", "\t\t;\n"),
    ("a key file that was read stays", TEST, HOST,
     "\t\texplicit_bzero(work, sizeof(*work));\n", ""),
    # --- logins
    ("a host may come from anywhere", TEST, HOST,
     "return !h->cfg->address || value_in_networks(h->cfg->address, peer);", "return h && peer;"),
    ("keys do not expire", TEST, HOST,
     "return h->cfg->expires && host_time(NULL) >= h->cfg->expires;", "return !h;"),
    ("keys are good on the day on which they end", TEST, HOST,
     "host_time(NULL) >= h->cfg->expires;", "host_time(NULL) > h->cfg->expires;"),
    ("nobody looks when keys expire", TEST, HOST,
     "loop_timer_start(&hosts.timer, host_look_ms);", "loop_timer_stop(&hosts.timer);"),
    ("the key of another host will do", TEST, HOST,
     "if (!memcmp(h->key[i].id, key_id, sizeof(h->key[i].id)))\n\t\t\tfound",
     "if (h && key_id)\n\t\t\tfound"),
    ("a network is the address of a host", TEST, VALUE,
     "\treturn in_list(text, sa, 128);\n", "\treturn in_list(text, sa, 0);\n"),
    ("a host whose keys have expired is expected", TEST, HOST,
     "if (h->cfg->address && !is_expired(h) &&\n", "if (h->cfg->address &&\n"),
    ("a stranger's key is always the same", TEST, HOST,
     "int ret = mac_random(nobody, sizeof(nobody));",
     "int ret = 0;\n\n\tmemset(nobody, 1, sizeof(nobody));"),
    ("a host id does not count", TEST, HOST,
     "return !h->cfg->has_id || !memcmp(h->cfg->host_id, host_id, RDMABLK_ID_LEN);",
     "return h && host_id;"),
    ("all hosts are one", TEST, HOST,
     "\tmemcpy(h->lease_id, digest, sizeof(h->lease_id));\n", ""),
    ("a host that may read may write", TEST, VALUE, '{ ":ro", ALLOW_READ },',
     '{ ":ro", ALLOW_READ | ALLOW_WRITE },'),
    ("the identity of the target is a new one at each start", TEST, IDENTITY,
     "\tif (ret)\n\t\treturn ret < 0 ? ret : 0;\n", "\tif (ret < 0)\n\t\treturn ret;\n"),
    # --- changes
    ("a session outlives its key", CHANGE, KEY,
     "\t\tsession_key_ends(s, KEY_ENDS_MS);\n", ""),
    ("a session goes on with the key of another host", CHANGE, HOST,
     "return h && !strcmp(h->cfg->name, proof->name) && host_is", "return h && proof && host_is"),
    ("a session goes on with another host id", CHANGE, HOST,
     " && host_is(h, host_id) ? h : NULL;", " && host_id ? h : NULL;"),
    ("a right that is lost waits for another key", CHANGE, KEY,
     "\tif (e)\n\t\treason = lost_right(", "\tif (e && host_of(s, s->proof.key_id))\n"
     "\t\treason = lost_right("),
    ("a right outlives its host", CHANGE, KEY, "\tif (e)\n\t\treason = lost_right(",
     "\tif (e && host_find_name(s->proof.name))\n\t\treason = lost_right("),
    ("another change gives more time", CHANGE, KEY,
     "} else if (!s->key_ends.armed) {", "} else {\n\t\tloop_timer_stop(&s->key_ends);"),
    ("a session outlives its right", CHANGE, KEY, "\t\treturn RDMABLK_R_NO_EXPORT;\n",
     "\t\treturn RDMABLK_OK;\n"),
    ("a writer outlives its right to write", CHANGE, KEY,
     "s->lease.writer && !(rights & ALLOW_WRITE) ? RDMABLK_R_READ_ONLY", "!s ? RDMABLK_R_READ_ONLY"),
    ("each change gives more time", CHANGE, KEY, "if (!s->key_ends.armed) {", "if (1) {"),
    ("a key that comes back ends", CHANGE, KEY, "\t\tsession_key_stays(s);\n", "\t\t;\n"),
    ("sessions without a proof end, too", CHANGE, KEY, "if (s->proof.name[0] && s->state",
     "if (s->state"),
    ("a reload forgets hosts that were added by hand", CHANGE, ADMIN,
     "host_load(fresh, HOST_KEEP_BY_HAND)", "host_load(fresh, HOST_KEEP_NONE)"),
    ("a new host replaces all others", CHANGE, ADMIN,
     "host_load(&change.fresh, HOST_KEEP_ALL)", "host_load(&change.fresh, HOST_KEEP_NONE)"),
    ("a reload leaves rights to later", CHANGE, ADMIN, "\ttake_rights(fresh);\n\tsession_hosts_changed();\n",
     "\tsession_hosts_changed();\n\ttake_rights(fresh);\n"),
    ("an export may allow strangers", CHANGE, ADMIN, "\t\tif (!host_by_name(host.name)) {\n",
     "\t\tif (0) {\n"),
    ("an export may be added for strangers", CHANGE, "target/admin/admin.c",
     "(!ec || !ec->allow || admin_host_check(ec->allow))", "ec"),
    ("hosts can be added without authentication", CHANGE, ADMIN,
     "if (change.cfg->auth == AUTH_PSK)\n\t\treturn true;", "if (change.cfg)\n\t\treturn true;"),
    # --- configuration
    ("a configuration may allow strangers", FILES, CONFIG, "if (!find_host(cfg, host.name))",
     "if (!find_host(cfg, host.name) && !ec)"),
    ("without authentication rights are passed over", FILES, CONFIG,
     "if (rest && cfg->auth == AUTH_NONE)", "if (0)"),
    ("hosts alone demand no keys", FILES, CONFIG,
     "cfg->auth = TAILQ_EMPTY(&cfg->hosts) ? AUTH_NONE : AUTH_PSK;", "cfg->auth = AUTH_NONE;"),
    ("strangers may reach an open daemon", FILES, CONFIG,
     "if (cfg->auth == AUTH_NONE && !cfg->insecure)", "if (0)"),
    ("a host may have three keys", FILES, KEYS, "if (hc->nr_keys == CONFIG_HOST_KEYS)",
     "if (hc->nr_keys == CONFIG_HOST_KEYS + 1)"),
    ("a host may be in a list twice", FILES, VALUE, "if (count(list, host.name) > 1)", "if (!count(list, host.name))"),
    ("unknown rights are no mistake", FILES, VALUE, "\t\tif (!host.rights)\n", "\t\tif (0)\n"),
    # --- what was meant, drop-in files
    ("two letters that change places are two mistakes", FILES, NEAR,
     "if (i > 1 && j > 1 && same(", "if (i > 1 && j > 99 && same("),
    ("case is a mistake", FILES, NEAR,
     "tolower((unsigned char)a) == tolower((unsigned char)b)", "a == b"),
    ("anything is near a short word", FILES, NEAR, "len < 2 ? 0 : len < 3 ? 2 :", "len < 2 ? 9 :"),
    ("the last of the near words is the nearest", FILES, NEAR,
     "\tn->distance = distance;\n", ""),
    ("a backup is a drop-in file", FILES, DROP_IN, "end && !strcmp(end, \".conf\")", "end"),
    ("a hidden file is a drop-in file", FILES, DROP_IN, "entry->d_name[0] != '.' && ", ""),
    ("drop-in files come in any order", FILES, DROP_IN,
     "return strcmp((*a)->d_name, (*b)->d_name);", "return strcmp((*b)->d_name, (*a)->d_name);"),
    ("a drop-in file that cannot be read is left out", FILES, CONFIG_FILE,
     "\t\twrong = read_file(cfg, found.path[i]);\n\t\tif (wrong)\n",
     "\t\twrong = read_file(cfg, found.path[i]);\n\t\tif (!cfg)\n"),
    ("drop-in files that cannot be found are left out", FILES, CONFIG_FILE,
     "\tif (wrong) {\n\t\tsnprintf(where, sizeof(where), \"%s.d\", path);\n",
     "\tif (!cfg) {\n\t\tsnprintf(where, sizeof(where), \"%s.d\", path);\n"),
]
