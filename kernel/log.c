// SPDX-License-Identifier: GPL-2.0-only
/*
 * A limit for the log lines that a peer can cause.
 *
 * Each device has a limit of its own: a target that floods the log of one disk hides nothing
 * about the others.
 */
#include "log.h"

#define RDMABLK_LOG_INTERVAL	(5 * HZ)
#define RDMABLK_LOG_BURST	20	/* lines: enough for several outages */

/**
 * rdmablk_log_init() - initialise
 * @log: of a new session
 */
void rdmablk_log_init(struct rdmablk_log *log)
{
	spin_lock_init(&log->lock);
	ratelimit_state_init(&log->limit, RDMABLK_LOG_INTERVAL, RDMABLK_LOG_BURST);
}

/**
 * rdmablk_log_may() - whether a line that a peer has caused may be logged
 * @log: of the session
 * @id: its name in the log
 *
 * Context: any.
 * Return: whether the limit allows it; if not, the line is counted.
 */
bool rdmablk_log_may(struct rdmablk_log *log, const char *id)
{
	unsigned long flags;
	int may;

	/*
	 * In Linux 6.12 and earlier, the limit refuses a line whenever another processor is
	 * asking at the same moment. A line that is the only one of its kind would get lost.
	 */
	spin_lock_irqsave(&log->lock, flags);
	may = ___ratelimit(&log->limit, id);
	spin_unlock_irqrestore(&log->lock, flags);
	return may;
}
