/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Threads with a name, which leave signals to the loop.
 */
#ifndef RDMABLKD_THREAD_H
#define RDMABLKD_THREAD_H

#include <pthread.h>
#include <stdbool.h>

int thread_start(pthread_t *thread, const char *name, void *(*run)(void *arg), void *arg);
bool thread_end_wanted(void);

#endif
