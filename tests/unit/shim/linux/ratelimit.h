/* SPDX-License-Identifier: GPL-2.0-only */
/* A test that needs functions of this file defines them. */
