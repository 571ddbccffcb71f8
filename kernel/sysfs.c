// SPDX-License-Identifier: GPL-2.0-only
/*
 * /sys/block/rdmablkN/rdmablk/: the state of a session, read-only, one value per file. The
 * disk brings the group with it, so udev sees it at the add event, and takes it along when
 * it goes. Documentation/ABI/testing/sysfs-block-rdmablk describes the files.
 */
#include <linux/blkdev.h>
#include <linux/device.h>
#include <linux/sysfs.h>
#include "keys.h"
#include "session.h"
#include "sysfs.h"

#define RDMABLK_ATTR(name, fmt, ...)						\
	static ssize_t name##_show(struct device *dev,				\
				   struct device_attribute *attr, char *buf)	\
	{									\
		struct rdmablk_session *s = dev_to_disk(dev)->private_data;	\
		struct rdmablk_agreed a;					\
										\
		rdmablk_session_agreed(s, &a);					\
		return sysfs_emit(buf, fmt "\n", __VA_ARGS__);			\
	}									\
	static DEVICE_ATTR_RO(name)

RDMABLK_ATTR(state, "%s", rdmablk_dev_state_text(rdmablk_session_state(s)));
RDMABLK_ATTR(reason, "%s", rdmablk_reason_text(READ_ONCE(s->outage.reason)));
RDMABLK_ATTR(target, "%pISpc", &s->opt.target);
RDMABLK_ATTR(target_name, "%s", a.grant.target_name);
RDMABLK_ATTR(export, "%s", s->opt.export_name);
RDMABLK_ATTR(uuid, "%pUb", a.grant.uuid);
RDMABLK_ATTR(epoch, "%pUb", a.grant.epoch);
RDMABLK_ATTR(session_id, "%016llx", a.grant.session_id);
RDMABLK_ATTR(auth, "%s", a.proven ? "psk" : "none");
RDMABLK_ATTR(queues, "%u", a.nr_hwqs);
RDMABLK_ATTR(poll_queues, "%u", a.nr_polled);
RDMABLK_ATTR(queue_depth, "%u", a.grant.queue_depth);
RDMABLK_ATTR(read_depth, "%u", a.read_depth);
RDMABLK_ATTR(regions, "%u", a.grant.nr_regions);
RDMABLK_ATTR(ibdev, "%s", a.ibdev);
RDMABLK_ATTR(keep_alive_tmo, "%u", DIV_ROUND_UP(a.grant.keep_alive_ms, 1000));
RDMABLK_ATTR(session_tmo_ms, "%u", a.grant.session_tmo_ms);
RDMABLK_ATTR(reconnect_delay, "%u", READ_ONCE(s->opt.reconnect_delay));
RDMABLK_ATTR(fast_io_fail_tmo, "%d", READ_ONCE(s->opt.fast_io_fail_tmo));
RDMABLK_ATTR(dev_loss_tmo, "%d", READ_ONCE(s->opt.dev_loss_tmo));
RDMABLK_ATTR(io_tmo, "%d", READ_ONCE(s->opt.io_tmo));
RDMABLK_ATTR(reauth_tmo, "%d", READ_ONCE(s->opt.reauth_tmo));
RDMABLK_ATTR(keep_alive_asked, "%u", READ_ONCE(s->opt.keep_alive_tmo));
RDMABLK_ATTR(on_data_loss, "%s", READ_ONCE(s->opt.on_data_loss) ==
	     RDMABLK_DATA_LOSS_CONTINUE ? "continue" : "fail");
RDMABLK_ATTR(io_failing, "%d", READ_ONCE(s->path.failing));
RDMABLK_ATTR(reconnects, "%llu", READ_ONCE(s->reconnects));
RDMABLK_ATTR(attempts, "%u", READ_ONCE(s->outage.attempts));
RDMABLK_ATTR(held, "%llu", READ_ONCE(s->held));
RDMABLK_ATTR(last_error, "%s", READ_ONCE(s->why) ?: "");
RDMABLK_ATTR(serial, "%pUb", a.grant.uuid);
RDMABLK_ATTR(wwid, "uuid.%pUb", a.grant.uuid);

static ssize_t key_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	char name[RDMABLK_KEY_NAME_LEN];

	rdmablk_keys_name(dev_to_disk(dev)->private_data, name);
	return sysfs_emit(buf, "%s\n", name);
}
static DEVICE_ATTR_RO(key);

static ssize_t model_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "rdmablk\n");
}
static DEVICE_ATTR_RO(model);

static struct attribute *rdmablk_disk_attrs[] = {
	&dev_attr_state.attr,
	&dev_attr_reason.attr,
	&dev_attr_target.attr,
	&dev_attr_target_name.attr,
	&dev_attr_export.attr,
	&dev_attr_uuid.attr,
	&dev_attr_epoch.attr,
	&dev_attr_session_id.attr,
	&dev_attr_auth.attr,
	&dev_attr_key.attr,
	&dev_attr_queues.attr,
	&dev_attr_poll_queues.attr,
	&dev_attr_queue_depth.attr,
	&dev_attr_read_depth.attr,
	&dev_attr_regions.attr,
	&dev_attr_ibdev.attr,
	&dev_attr_keep_alive_tmo.attr,
	&dev_attr_session_tmo_ms.attr,
	&dev_attr_reconnect_delay.attr,
	&dev_attr_fast_io_fail_tmo.attr,
	&dev_attr_dev_loss_tmo.attr,
	&dev_attr_io_tmo.attr,
	&dev_attr_reauth_tmo.attr,
	&dev_attr_keep_alive_asked.attr,
	&dev_attr_on_data_loss.attr,
	&dev_attr_io_failing.attr,
	&dev_attr_reconnects.attr,
	&dev_attr_attempts.attr,
	&dev_attr_held.attr,
	&dev_attr_last_error.attr,
	&dev_attr_model.attr,
	&dev_attr_serial.attr,
	&dev_attr_wwid.attr,
	NULL
};

static const struct attribute_group rdmablk_disk_group = {
	.name	= "rdmablk",
	.attrs	= rdmablk_disk_attrs,
};

const struct attribute_group *rdmablk_disk_groups[] = {
	&rdmablk_disk_group,
	NULL
};
