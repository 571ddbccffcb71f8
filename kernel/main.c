// SPDX-License-Identifier: GPL-2.0-only
/*
 * Module init and exit, and the module's parameters.
 *
 * The kernel ignores parameters that it does not know, so a mistyped name would go unnoticed.
 * Therefore one string, connect=, has everything that brings disks up, and is parsed strictly.
 * The module logs in to all targets at once, and adds the disks only if every login succeeds.
 * From then on nothing fails the load: udev may have opened a disk, and the module could not
 * be unloaded.
 */
#include <linux/dmi.h>
#include <linux/errno.h>
#include <linux/inet.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/reboot.h>
#include <linux/slab.h>
#include <linux/uuid.h>
#include <net/net_namespace.h>
#include <rdma/ib_verbs.h>
#include "keys.h"
#include "lifecycle.h"
#include "log.h"
#include "netlink.h"
#include "param.h"
#include "power.h"
#include "recovery.h"
#include "registry.h"
#include "session.h"

#define RDMABLK_CONNECT_LEN	1023

static char *connect;
module_param(connect, charp, 0);
MODULE_PARM_DESC(connect, "disks to connect: ADDR[:PORT]/NAME[,...]; IPv6 in brackets");

static char *host_id;
module_param(host_id, charp, 0444);
MODULE_PARM_DESC(host_id, "UUID of this host (default: the machine's SMBIOS UUID)");

bool rdmablk_require_key;
module_param_named(require_key, rdmablk_require_key, bool, 0444);
MODULE_PARM_DESC(require_key, "no disk logs in without a key (default: N)");

struct workqueue_struct *rdmablk_wq;
struct workqueue_struct *rdmablk_poll_wq;
struct workqueue_struct *rdmablk_recovery_wq;
struct workqueue_struct *rdmablk_reauth_wq;
struct workqueue_struct *rdmablk_login_wq;
u8 rdmablk_host_id[RDMABLK_ID_LEN];
u8 rdmablk_boot_nonce[RDMABLK_ID_LEN];
bool rdmablk_ready;

/*
 * Firmware without a UUID reports all zeroes, all ones, or the UUID of the vendor's template.
 * Two hosts with one identity would take each other's exports.
 */
static bool rdmablk_dmi_uuid_ok(const uuid_t *id)
{
	static const uuid_t template = UUID_INIT(0x03000200, 0x0400, 0x0500, 0x00, 0x06,
						 0x00, 0x07, 0x00, 0x08, 0x00, 0x09);

	return !uuid_is_null(id) && memchr_inv(id, 0xff, sizeof(*id)) &&
	       !uuid_equal(id, &template);
}

static int rdmablk_init_host_id(void)
{
	const char *dmi = dmi_get_system_info(DMI_PRODUCT_UUID);
	uuid_t id;

	if (host_id) {
		if (strlen(host_id) != UUID_STRING_LEN || uuid_parse(host_id, &id) ||
		    uuid_is_null(&id)) {
			pr_err("host_id=%s: not a UUID\n", host_id);
			return -EINVAL;
		}
		export_uuid(rdmablk_host_id, &id);
		return 0;
	}
	if (dmi && !uuid_parse(dmi, &id) && rdmablk_dmi_uuid_ok(&id)) {
		export_uuid(rdmablk_host_id, &id);
		return 0;
	}
	get_random_bytes(rdmablk_host_id, sizeof(rdmablk_host_id));
	pr_notice("the machine has no SMBIOS UUID; host_id is %pUb until the module is unloaded\n",
		  rdmablk_host_id);
	return 0;
}

static int rdmablk_init_options(const struct rdmablk_param_spec *spec,
				struct rdmablk_options *opt)
{
	char port[8];

	rdmablk_session_options_init(opt);
	strscpy(opt->export_name, spec->name, sizeof(opt->export_name));
	snprintf(port, sizeof(port), "%u", spec->port);
	if (inet_pton_with_scope(&init_net, AF_UNSPEC, spec->addr, port, &opt->target)) {
		pr_err("connect=: %s is not a numeric address\n", spec->addr);
		return -EINVAL;
	}
	return 0;
}

static void rdmablk_login_work(struct work_struct *work)
{
	struct rdmablk_session *s = container_of(work, struct rdmablk_session, login_work);

	s->login_ret = rdmablk_lifecycle_connect(s);
	complete(&s->login_done);
}

/*
 * Gives a session the key that has the name of the address, else the key "default". Without
 * both, the session logs in without a key, and any machine that answers at the address can be
 * its target; with require_key that is an error. A key that has expired is like one that was
 * never loaded, because the kernel soon removes it from all keyrings.
 */
static int rdmablk_init_key(struct rdmablk_session *s, const char *addr)
{
	char of_addr[RDMABLK_ADDR_LEN];
	const char *const names[] = { of_addr, "default" };
	const char *why;
	struct key *key;
	int i, ret;

	rdmablk_param_addr_key(addr, of_addr);
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		/* The interface in a link-local address may have any character. */
		if (rdmablk_param_check_key(names[i], &why))
			continue;
		key = rdmablk_keys_find(names[i]);
		ret = IS_ERR(key) ? PTR_ERR(key) : rdmablk_keys_give(s, names[i], key);
		if (!ret)
			return 0;
		if (ret != -ENOKEY) {
			rdmablk_err(s, "connect failed: %s (%d)\n", rdmablk_keys_text(ret), ret);
			return ret;
		}
	}
	if (!rdmablk_require_key)
		return 0;
	rdmablk_err(s, "connect failed: neither a key for this address nor the key default is loaded: rdmablk key load FILE (%d)\n",
		    -ENOKEY);
	return -ENOKEY;
}

static int rdmablk_init_session(const struct rdmablk_options *opt, const char *addr)
{
	struct rdmablk_session *s;
	const char *why;

	s = rdmablk_lifecycle_create(opt, 0, &why);
	if (IS_ERR(s)) {
		pr_err("connect=: %pISpc/%s: %s\n", &opt->target, opt->export_name, why);
		return PTR_ERR(s);
	}
	INIT_WORK(&s->login_work, rdmablk_login_work);
	return rdmablk_init_key(s, addr);
}

static int rdmablk_init_sessions(void)
{
	struct rdmablk_param_spec spec;
	struct rdmablk_options opt;
	const char *cursor = connect, *why;
	int ret;

	if (strlen(connect) > RDMABLK_CONNECT_LEN) {
		pr_err("connect=: longer than %d characters\n", RDMABLK_CONNECT_LEN);
		return -EINVAL;
	}
	while ((ret = rdmablk_param_next(&cursor, &spec, &why)) > 0) {
		ret = rdmablk_init_options(&spec, &opt);
		if (!ret)
			ret = rdmablk_init_session(&opt, spec.addr);
		if (ret)
			return ret;
	}
	if (ret)
		pr_err("connect=%s: %s\n", connect, why);
	return ret;
}

/* Calls @fn with each session in the order of their numbers. */
static int rdmablk_for_each(int (*fn)(struct rdmablk_session *s))
{
	struct rdmablk_session *s = NULL;
	int ret = 0, r;

	while (rdmablk_registry_step(&s)) {
		r = fn(s);
		if (!ret)
			ret = r;
	}
	return ret;
}

static int rdmablk_login_begin(struct rdmablk_session *s)
{
	queue_work(rdmablk_login_wq, &s->login_work);
	return 0;
}

static int rdmablk_login_end(struct rdmablk_session *s)
{
	/* In pieces: the kernel reports a task as hung that sleeps for two minutes. */
	while (!wait_for_completion_timeout(&s->login_done, HZ))
		;
	return s->login_ret;
}

static int rdmablk_abort_one(struct rdmablk_session *s)
{
	rdmablk_lifecycle_abort(s);
	return 0;
}

static int rdmablk_publish_one(struct rdmablk_session *s)
{
	int ret = rdmablk_lifecycle_publish(s);
	const char *why;

	if (ret < 0)
		rdmablk_lifecycle_abort(s);
	else if (ret && !rdmablk_lifecycle_claim(s, true, &why))
		rdmablk_lifecycle_remove(s);
	return 0;
}

static int rdmablk_init_connect(void)
{
	int ret;

	if (!connect)
		return 0;
	ret = rdmablk_init_sessions();
	if (!ret) {
		rdmablk_for_each(rdmablk_login_begin);
		ret = rdmablk_for_each(rdmablk_login_end);
	}
	if (ret) {
		rdmablk_for_each(rdmablk_abort_one);
		return ret;
	}
	rdmablk_for_each(rdmablk_publish_one);
	return 0;
}

static int rdmablk_shutdown_one(struct rdmablk_session *s)
{
	rdmablk_recovery_shutdown(s);
	return 0;
}

/*
 * A task that waits for held I/O would keep the machine from going down. Such a task may be
 * a notifier like this one: md writes superblocks in a notifier of the highest priority. Of
 * two notifiers with one priority, the kernel calls the one that was registered first.
 */
static int rdmablk_reboot(struct notifier_block *nb, unsigned long event, void *data)
{
	rdmablk_for_each(rdmablk_shutdown_one);
	return NOTIFY_DONE;
}

static struct notifier_block rdmablk_reboot_notifier = {
	.notifier_call = rdmablk_reboot,
	.priority = INT_MAX,
};

/* A new RDMA device gets its addresses a little later than it appears. */
#define RDMABLK_DEVICE_PAUSE	(HZ / 5)

static int rdmablk_kick_one(struct rdmablk_session *s)
{
	rdmablk_recovery_kick(s, RDMABLK_DEVICE_PAUSE);
	return 0;
}

static struct ib_client rdmablk_ib_client;

/*
 * An RDMA device has come back, so sessions that reconnect try again soon. After an error the
 * RDMA core does not call rdmablk_device_removed().
 */
static int rdmablk_device_added(struct ib_device *dev)
{
	struct platform_device *child = rdmablk_power_add(dev);

	rdmablk_for_each(rdmablk_kick_one);
	if (IS_ERR(child))
		return PTR_ERR(child);
	ib_set_client_data(dev, &rdmablk_ib_client, child);
	return 0;
}

static void rdmablk_device_removed(struct ib_device *dev, void *child)
{
	rdmablk_power_remove(child);
}

static struct ib_client rdmablk_ib_client = {
	.name	= "rdmablk",
	.add	= rdmablk_device_added,
	.remove	= rdmablk_device_removed,
};

/*
 * Recovery and keep-alive must make progress under memory pressure. rdmablk_wq runs the
 * timers of all disks, so a work that waits for a peer or for memory must not run there:
 * recoveries and proofs of the key in a live session have work queues of their own. So have
 * polling, which never ends while requests are under way, and first logins.
 */
static int rdmablk_init_works(void)
{
	rdmablk_wq = alloc_workqueue("rdmablk", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!rdmablk_wq)
		return -ENOMEM;
	rdmablk_recovery_wq = alloc_workqueue("rdmablk_recovery",
					      WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!rdmablk_recovery_wq)
		goto err_wq;
	/* The recovery waits for these works. */
	rdmablk_reauth_wq = alloc_workqueue("rdmablk_reauth", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!rdmablk_reauth_wq)
		goto err_recovery_wq;
	rdmablk_poll_wq = alloc_workqueue("rdmablk_poll", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!rdmablk_poll_wq)
		goto err_reauth_wq;
	rdmablk_login_wq = alloc_workqueue("rdmablk_login", WQ_UNBOUND, 0);
	if (!rdmablk_login_wq)
		goto err_poll_wq;
	return 0;

err_poll_wq:
	destroy_workqueue(rdmablk_poll_wq);
err_reauth_wq:
	destroy_workqueue(rdmablk_reauth_wq);
err_recovery_wq:
	destroy_workqueue(rdmablk_recovery_wq);
err_wq:
	destroy_workqueue(rdmablk_wq);
	return -ENOMEM;
}

static void rdmablk_exit_works(void)
{
	destroy_workqueue(rdmablk_login_wq);
	destroy_workqueue(rdmablk_poll_wq);
	destroy_workqueue(rdmablk_reauth_wq);
	destroy_workqueue(rdmablk_recovery_wq);
	destroy_workqueue(rdmablk_wq);
}

static int __init rdmablk_init(void)
{
	int ret;

	get_random_bytes(rdmablk_boot_nonce, sizeof(rdmablk_boot_nonce));
	ret = rdmablk_init_host_id();
	if (ret)
		return ret;
	ret = rdmablk_init_works();
	if (ret)
		return ret;
	ret = rdmablk_keys_start();
	if (ret)
		goto err_works;
	ret = rdmablk_power_init();
	if (ret)
		goto err_keys;
	ret = ib_register_client(&rdmablk_ib_client);
	if (ret)
		goto err_power;
	ret = register_reboot_notifier(&rdmablk_reboot_notifier);
	if (ret)
		goto err_ib_client;
	ret = rdmablk_netlink_init();
	if (ret)
		goto err_reboot;
	ret = rdmablk_init_connect();
	if (ret)
		goto err_netlink;
	/* From here on netlink commands may create and change sessions, too. */
	WRITE_ONCE(rdmablk_ready, true);
	return 0;

err_netlink:
	rdmablk_netlink_exit();
err_reboot:
	unregister_reboot_notifier(&rdmablk_reboot_notifier);
err_ib_client:
	ib_unregister_client(&rdmablk_ib_client);
err_power:
	rdmablk_power_exit();
err_keys:
	rdmablk_keys_stop();
err_works:
	rdmablk_exit_works();
	return ret;
}

static void __exit rdmablk_exit(void)
{
	rdmablk_netlink_exit();
	unregister_reboot_notifier(&rdmablk_reboot_notifier);
	ib_unregister_client(&rdmablk_ib_client);
	rdmablk_power_exit();
	rdmablk_lifecycle_remove_all();
	rdmablk_keys_stop();
	rdmablk_exit_works();
}

module_init(rdmablk_init);
module_exit(rdmablk_exit);

MODULE_DESCRIPTION("Block device over one-sided RDMA");
MODULE_AUTHOR("rdmablk developers");
MODULE_LICENSE("GPL");
MODULE_VERSION(RDMABLK_VERSION);
MODULE_SOFTDEP("pre: hmac sha256 rdma_cm");
