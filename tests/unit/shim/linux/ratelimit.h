/* SPDX-License-Identifier: GPL-2.0-only */
/* A test says what it makes of them. */
