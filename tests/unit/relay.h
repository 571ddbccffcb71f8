/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A login of the module at the daemon, in one process. target_relay_test has the daemon, and
 * sees and changes the messages between the two; relay_initiator has the module's login.
 */
#ifndef RELAY_H
#define RELAY_H

#include <stddef.h>
#include <stdint.h>

/**
 * relay_connect() - a connection request
 * @qpn: number of the queue pair that sends the request
 * @request: private data of the request
 * @len: bytes of @request
 * @accept: result, room for struct rdmablk_cm_accept2
 * @peer_qpn: result, number of the queue pair that accepts
 *
 * Return: bytes of @accept; 0: rejected.
 */
size_t relay_connect(uint32_t qpn, const void *request, size_t len, void *accept,
		     uint32_t *peer_qpn);

/**
 * relay_say() - a message of the initiator on the control queue
 * @msg: message, or frame
 * @len: bytes of @msg
 */
void relay_say(const void *msg, size_t len);

/**
 * relay_hear() - the next message of the target on the control queue
 * @msg: result, room for RDMABLK_CTRL_MSG_MAX bytes
 *
 * Return: bytes of @msg; 0: the connection is gone.
 */
size_t relay_hear(void *msg);

/**
 * initiator_login() - log in
 * @key: K, 32 bytes
 * @export: name
 *
 * Return: 0: the disk is live; else a negative errno.
 */
int initiator_login(const uint8_t *key, const char *export);

#endif /* RELAY_H */
