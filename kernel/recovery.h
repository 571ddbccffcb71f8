/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What happens after an error.
 */
#ifndef RDMABLK_RECOVERY_H
#define RDMABLK_RECOVERY_H

#include <linux/types.h>

struct rdmablk_session;

void rdmablk_recovery_init(struct rdmablk_session *s);
void rdmablk_recovery_give_up(struct rdmablk_session *s);
void rdmablk_recovery_finish(struct rdmablk_session *s);
void rdmablk_recovery_changed(struct rdmablk_session *s);
int rdmablk_recovery_again(struct rdmablk_session *s, bool accept_loss,
			   const char **why);
bool rdmablk_recovery_flush(struct rdmablk_session *s);
int rdmablk_recovery_logout(struct rdmablk_session *s, bool ended);
void rdmablk_recovery_kick(struct rdmablk_session *s, unsigned long delay);
void rdmablk_recovery_shutdown(struct rdmablk_session *s);

#endif /* RDMABLK_RECOVERY_H */
