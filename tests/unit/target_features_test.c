// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a store wants of an initiator: one that has not agreed on the features for it is
 * refused, and told why. Sessions have no adapter.
 *
 * Sources: target/dialog.c target/store_full.c target/store_none.c
 * Libraries: json-c liburing
 */
#include "target_admin.h"
#include "../../target/dialog.h"
#include "../../target/mac.h"

static struct device adapter = { .attr.max_mr_size = 64 * MIB };

/*
 * Return: what comes of a login that has got as far as PROOF. It resumes another export, so
 * that it gets no further.
 */
static unsigned int prove(const struct export *e, uint64_t features)
{
	static const uint8_t no_key[RDMABLK_MAC_LEN];
	struct session *s = calloc(1, sizeof(*s));
	struct rdmablk_proof proof = { .hdr = { .type = htole16(RDMABLK_MSG_PROOF),
						.length = htole16(sizeof(proof)) } };
	unsigned int reason;

	assert_non_null(s);
	s->cfg = &cfg;
	s->device = &adapter;
	s->state = SESSION_PROOF;
	s->wish.uuid[0] = (uint8_t)~e->store.uuid[0];
	s->wish.flags = RDMABLK_HELLO_RESUME;
	s->wish.features = features;
	snprintf(s->wish.export_name, sizeof(s->wish.export_name), "%s", e->cfg->name);
	session_add(s);
	assert_int_equal(mac_proof(no_key, &s->hello, &s->challenge, proof.mac), 0);
	reason = dialog_receive(s, &proof, sizeof(proof));
	session_remove(s);
	return reason;
}

/* Without a cache data is staged; in memory it is not, but has to be flushed. */
static void a_store_wants_its_features(void **state)
{
	static const uint64_t commands = RDMABLK_F_COMMANDS,
			      staged = RDMABLK_F_COMMANDS | RDMABLK_F_STAGED;
	const char *path = files_new("disk", 4 * MIB);
	const struct {
		const char *words;
		uint64_t features;
		unsigned int reason;	/* IDENTITY: nothing is missing */
	} logins[] = {
		{ "", 0, RDMABLK_R_FEATURE },
		{ "", commands, RDMABLK_R_FEATURE },
		{ "", staged, RDMABLK_R_IDENTITY },
		{ ",ro", commands, RDMABLK_R_FEATURE },
		{ ",ro", staged, RDMABLK_R_IDENTITY },
		{ ",cache=full", 0, RDMABLK_R_FEATURE },
		{ ",cache=full", commands, RDMABLK_R_IDENTITY },
		{ ",cache=full,ro", 0, RDMABLK_R_IDENTITY },
	};
	char spec[300];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(logins); i++) {
		snprintf(spec, sizeof(spec), "disk,file=%s%s", path, logins[i].words);
		assert_int_equal(run(ADMIN_ADD, "", spec, 0), 0);
		assert_int_equal(prove(export_find("disk"), logins[i].features),
				 logins[i].reason);
		assert_int_equal(run(ADMIN_REMOVE, "disk", NULL, 0), 0);
	}
	assert_int_equal(prove(export_find("first"), 0), RDMABLK_R_IDENTITY);
	/* what the admin guide and the protocol have of it */
	assert_string_equal(rdmablk_reason_text(RDMABLK_R_FEATURE),
			    "a required feature is missing");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_store_wants_its_features),
	};

	return cmocka_run_group_tests_name("features", tests, setup, teardown);
}
