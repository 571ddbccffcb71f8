/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * QEMU's interface for plugins, version 4: what insns.c uses of it, and of GLib's
 * arrays. Debian has no package with QEMU's own header.
 */
#ifndef PROFILE_QEMU_PLUGIN_H
#define PROFILE_QEMU_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

typedef uint64_t qemu_plugin_id_t;
struct qemu_info;
struct qemu_tb;
struct qemu_insn;
struct qemu_register;

struct byte_array {
	uint8_t *data;
	unsigned int len;
};

struct reg_desc {
	struct qemu_register *handle;
	const char *name;
	const char *feature;
};

enum { CB_R_REGS = 1 };

typedef void (*vcpu_cb)(qemu_plugin_id_t id, unsigned int vcpu);
typedef void (*tb_cb)(qemu_plugin_id_t id, struct qemu_tb *tb);
typedef void (*exec_cb)(unsigned int vcpu, void *data);

void qemu_plugin_register_vcpu_init_cb(qemu_plugin_id_t id, vcpu_cb cb);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, tb_cb cb);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_tb *tb, exec_cb cb,
					  int flags, void *data);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_insn *insn, exec_cb cb,
					    int flags, void *data);
size_t qemu_plugin_tb_n_insns(const struct qemu_tb *tb);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_tb *tb);
struct qemu_insn *qemu_plugin_tb_get_insn(const struct qemu_tb *tb, size_t i);
size_t qemu_plugin_insn_data(const struct qemu_insn *insn, void *to, size_t len);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_insn *insn);
struct byte_array *qemu_plugin_get_registers(void);
int qemu_plugin_read_register(struct qemu_register *reg, struct byte_array *to);
struct byte_array *g_byte_array_new(void);
struct byte_array *g_byte_array_set_size(struct byte_array *array,
					 unsigned int len);

int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info,
			int argc, char **argv);

#endif /* PROFILE_QEMU_PLUGIN_H */
