/* SPDX-License-Identifier: GPL-2.0-only */
/* A test that needs this has no tracepoints. */
