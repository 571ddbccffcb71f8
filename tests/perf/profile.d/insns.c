// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A plugin of QEMU that counts the instructions of an emulated machine with one
 * processor, by chain of calls.
 *
 * It follows calls and returns on its own stack for each task; an interrupt is a
 * frame on top of the interrupted function. Instructions between two marks are
 * added to a tree: a node is a function as called by its parent. The tree tells
 * both the cost of a function itself and its caller, so that copying, allocating
 * and locking can be charged to the layer that asks for it.
 *
 * A program in the guest makes the marks: "xchg %bx,%bx" begins, "xchg %cx,%cx"
 * ends and writes DIR/profile.N. Neither instruction has an effect, and no compiler emits
 * them. A block counts as a whole when it begins, and once more in part when a fault has
 * cut it. Indirect calls have to be calls, so the kernel must run without retpolines
 * (mitigations=off). Before the first mark DIR/kallsyms must have /proc/kallsyms of the
 * guest.
 *
 *   -plugin insns.so,dir=DIR
 *
 * Output, a line each: "N id parent pc" for each node, "T id" for a node that is no
 * function but a task, whose functions are below it, and "C id pc count times" for
 * the instructions that a node has spent in the block that begins at pc, and how often
 * it began, which is in another function than the node's after a tail call.
 *
 * It speaks version 4 of QEMU's interface, see qemu_plugin.h.
 */

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "qemu_plugin.h"

int qemu_plugin_version = 4;

/* --- the tree --- */

/* How a block ends, which tells what the next block is. */
enum ending { NORMAL, CALL, RETURN, IRET, SYSRET };

/* What begins with a block, see the names in symbol_role(). */
enum role {
	UNKNOWN, PLAIN, FUNCTION, USER, INTERRUPT, FAULT, SYSCALL, SWITCH, FORK
};

struct block {
	uint64_t pc;
	uint64_t end;
	uint32_t insns;
	enum ending ending;
	enum role role;
	uint32_t last_node;	/* of the last time, with its counter */
	uint32_t last_count;
};

struct frame {
	uint64_t ret;		/* where it returns to; 0: an interrupt's */
	uint32_t node;
	enum ending ending;	/* of the block before an interrupt */
	uint64_t end;
};

enum { MAX_DEPTH = 256, BUCKETS = 1 << 20, MAX_TASKS = 4096, MAX_ROLES = 256 };

struct task {
	uint64_t pointer;
	uint32_t node;
	int depth;
	struct frame frames[MAX_DEPTH];
};

struct entry {
	uint64_t pc;
	uint64_t count;
	uint64_t times;
	uint32_t parent;	/* a node */
	uint32_t next;		/* in the bucket; 0: none */
};

/* Number 0 means "no entry"; in nodes it is the root. */
struct table {
	struct entry *entries;
	uint32_t used;
	uint32_t room;
	uint32_t buckets[BUCKETS];
};

static struct table nodes, counts;
static struct task *tasks[MAX_TASKS];
static int n_tasks;
static struct task *task;
static enum ending last_ending;
static uint64_t last_end;
static uint64_t last_pc;	/* of the last block of the kernel */
static bool running;
static int window;
static const char *dir;
static struct qemu_register *rsi;
static struct byte_array *value;

static struct {
	uint64_t pc;
	enum role role;
} roles[MAX_ROLES];
static int n_roles;
static uint64_t stubs_from, stubs_to;	/* of interrupts of devices */
static uint64_t *functions;	/* where they begin, sorted */
static size_t n_functions;

static void die(const char *what, const char *name)
{
	fprintf(stderr, "insns: %s%s\n", what, name);
	exit(1);
}

static uint32_t table_find(struct table *table, uint32_t parent, uint64_t pc)
{
	uint64_t hash = (pc + parent * 0x85ebca6bull) * 0x9e3779b97f4a7c15ull;
	uint32_t *bucket = &table->buckets[(hash >> 40) % BUCKETS];
	uint32_t i;

	for (i = *bucket; i; i = table->entries[i].next)
		if (table->entries[i].parent == parent &&
		    table->entries[i].pc == pc)
			return i;
	if (table->used + 1 >= table->room) {
		table->room = table->room ? 2 * table->room : 1 << 16;
		table->entries = realloc(table->entries, table->room *
					 sizeof(*table->entries));
		if (!table->entries)
			die("out of memory", "");
	}
	i = ++table->used;
	table->entries[i] = (struct entry) {
		.pc = pc, .parent = parent, .next = *bucket,
	};
	*bucket = i;
	return i;
}

/* --- the task whose stack it is --- */

static struct task *task_find(uint64_t pointer)
{
	int i;

	for (i = 0; i < n_tasks; i++)
		if (tasks[i]->pointer == pointer)
			return tasks[i];
	if (n_tasks == MAX_TASKS)
		die("too many tasks", "");
	tasks[i] = calloc(1, sizeof(*tasks[i]));
	if (!tasks[i])
		die("out of memory", "");
	tasks[i]->pointer = pointer;
	/* No function begins at so small an address. */
	tasks[i]->node = table_find(&nodes, 0, ++n_tasks);
	return tasks[i];
}

static uint32_t node_now(void)
{
	return task->depth ? task->frames[task->depth - 1].node : task->node;
}

/* Calls deeper than MAX_DEPTH are charged to the deepest frame that fits. */
static void push(uint64_t pc, uint64_t ret)
{
	struct frame *frame;

	if (task->depth == MAX_DEPTH)
		return;
	/* The function was called before the first mark, so its own callers are not known. */
	if (!task->depth && last_pc) {
		task->frames[task->depth++] = (struct frame) {
			.ret = 1, .node = table_find(&nodes, task->node, last_pc),
		};
	}
	frame = &task->frames[task->depth];
	*frame = (struct frame) {
		.ret = ret, .node = table_find(&nodes, node_now(), pc),
	};
	task->depth++;
}

/*
 * A jump to the beginning of another function: the return of that function is the return
 * of the jumping one, too. In the tree it is a callee of the jumping function.
 */
static void tail_call(uint64_t pc)
{
	struct frame *frame;

	if (!task->depth)
		return;
	frame = &task->frames[task->depth - 1];
	if (nodes.entries[frame->node].pc != pc)
		frame->node = table_find(&nodes, frame->node, pc);
}

/*
 * An interrupt is no callee of the interrupted function. Its frame keeps how the
 * interrupted block ended.
 */
static void interrupt(uint64_t pc, bool fault)
{
	struct frame *frame;

	if (task->depth == MAX_DEPTH)
		return;
	frame = &task->frames[task->depth++];
	*frame = (struct frame) { .node = table_find(&nodes, 0, pc) };
	/* A fault is taken before the end of its block, an interrupt after. */
	if (!fault) {
		frame->ending = last_ending;
		frame->end = last_end;
	}
}

/*
 * Frames that were left without a return are removed with the one that the task returns to.
 * A return to an unknown address belongs to a call from before the first mark.
 */
static void pop_to(uint64_t pc)
{
	int i;

	for (i = task->depth - 1; i >= 0 && task->frames[i].ret; i--)
		if (task->frames[i].ret == pc) {
			task->depth = i;
			return;
		}
}

static void pop_interrupt(void)
{
	struct frame *frame;
	int i;

	for (i = task->depth - 1; i >= 0; i--) {
		frame = &task->frames[i];
		if (!frame->ret) {
			task->depth = i;
			last_ending = frame->ending;
			last_end = frame->end;
			return;
		}
	}
	/* The interrupt began before the first mark, or this is not a return from one. */
	last_ending = NORMAL;
}

static uint64_t read_rsi(void)
{
	uint64_t pointer;

	g_byte_array_set_size(value, 0);
	if (qemu_plugin_read_register(rsi, value) < (int)sizeof(pointer))
		die("cannot read register rsi", "");
	memcpy(&pointer, value->data, sizeof(pointer));
	return pointer;
}

/* --- symbols --- */

static enum role symbol_role(const char *name)
{
	if (!strncmp(name, "asm_sysvec_", 11) ||
	    !strcmp(name, "asm_spurious_interrupt"))
		return INTERRUPT;
	if (!strncmp(name, "asm_exc_", 8))
		return FAULT;
	if (!strcmp(name, "entry_SYSCALL_64"))
		return SYSCALL;
	if (!strcmp(name, "__switch_to_asm"))
		return SWITCH;
	if (!strcmp(name, "ret_from_fork_asm"))
		return FORK;
	return FUNCTION;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static bool is_function(uint64_t pc)
{
	return bsearch(&pc, functions, n_functions, sizeof(pc), compare);
}

static void add_function(uint64_t pc)
{
	static size_t room;

	if (n_functions == room) {
		room = room ? 2 * room : 1 << 16;
		functions = realloc(functions, room * sizeof(*functions));
		if (!functions)
			die("out of memory", "");
	}
	functions[n_functions++] = pc;
}

static bool is_in_stubs(uint64_t pc)
{
	return pc >= stubs_from && pc < stubs_to;
}

/*
 * Interrupts of devices enter by a table of small stubs that push their number and
 * jump to what they have in common. It ends with the next symbol.
 */
static void read_stubs(FILE *file)
{
	char line[512], name[256];
	uint64_t pc;

	stubs_from = 0;
	stubs_to = UINT64_MAX;
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "%" SCNx64 " %*c %255s", &pc, name) == 2 &&
		    !strcmp(name, "irq_entries_start"))
			stubs_from = pc;
	rewind(file);
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "%" SCNx64, &pc) == 1 && pc > stubs_from &&
		    pc < stubs_to)
			stubs_to = pc;
	rewind(file);
}

static void read_symbols(void)
{
	char path[4200], line[512], name[256], kind;
	unsigned int found = 0;
	enum role role;
	uint64_t pc;
	FILE *file;

	snprintf(path, sizeof(path), "%s/kallsyms", dir);
	file = fopen(path, "r");
	if (!file)
		die("cannot read ", path);
	read_stubs(file);
	for (n_roles = 0; fgets(line, sizeof(line), file);) {
		if (sscanf(line, "%" SCNx64 " %c %255s", &pc, &kind, name) != 3 ||
		    !strchr("tTwW", kind))
			continue;
		role = symbol_role(name);
		if (role == FUNCTION || strchr(line, '[')) {
			add_function(pc);
			continue;
		}
		if (n_roles == MAX_ROLES)
			die("too many entries in ", path);
		roles[n_roles].pc = pc;
		roles[n_roles++].role = role;
		found |= 1 << role;
	}
	fclose(file);
	qsort(functions, n_functions, sizeof(*functions), compare);
	if (!stubs_from || found != (1 << INTERRUPT | 1 << FAULT | 1 << SYSCALL |
		      1 << SWITCH | 1 << FORK))
		die("entries of the kernel are missing in ", path);
}

static enum role role_of(uint64_t pc)
{
	int i;

	if (!(pc >> 63))
		return USER;
	if (is_in_stubs(pc))
		return INTERRUPT;
	for (i = 0; i < n_roles; i++)
		if (roles[i].pc == pc)
			return roles[i].role;
	return is_function(pc) ? FUNCTION : PLAIN;
}

/* --- while the guest runs --- */

static void arrive(struct block *block)
{
	if (last_ending == IRET && block->role != USER)
		pop_interrupt();
	switch (block->role) {
	case USER:
		/* Calls of programs are not followed. */
		if (task->depth != 1 || last_ending == IRET ||
		    last_ending == SYSRET) {
			task->depth = 0;
			last_pc = 0;
			push(1, 1);
		}
		break;
	case SYSCALL:
	case FORK:
		task->depth = 0;
		last_pc = 0;
		push(block->pc, 1);
		break;
	case INTERRUPT:
	case FAULT:
		interrupt(block->pc, block->role == FAULT);
		break;
	default:
		if (last_ending == CALL)
			push(block->pc, last_end);
		else if (last_ending == RETURN)
			pop_to(block->pc);
		else if (block->role == FUNCTION)
			tail_call(block->pc);
		break;
	}
	if (block->role == SWITCH)
		task = task_find(read_rsi());
}

static void executed(unsigned int vcpu, void *data)
{
	struct block *block = data;
	uint32_t node;

	(void)vcpu;
	if (!running)
		return;
	if (block->role == UNKNOWN)
		block->role = role_of(block->pc);
	arrive(block);
	node = node_now();
	if (!block->last_count || block->last_node != node) {
		block->last_node = node;
		block->last_count = table_find(&counts, node, block->pc);
	}
	counts.entries[block->last_count].count += block->insns;
	counts.entries[block->last_count].times++;
	last_ending = block->ending;
	last_end = block->end;
	last_pc = block->role == USER ? 0 : block->pc;
}

static void begin(unsigned int vcpu, void *data)
{
	uint32_t i;

	(void)vcpu;
	(void)data;
	if (!n_roles)
		read_symbols();
	for (i = 1; i <= counts.used; i++) {
		counts.entries[i].count = 0;
		counts.entries[i].times = 0;
	}
	/* Calls of the tasks between two windows were not followed. */
	for (i = 0; i < (uint32_t)n_tasks; i++)
		tasks[i]->depth = 0;
	last_ending = NORMAL;
	last_pc = 0;
	running = true;
}

static void end(unsigned int vcpu, void *data)
{
	char path[4200];
	uint32_t i;
	FILE *file;

	(void)vcpu;
	(void)data;
	if (!running)
		return;
	running = false;
	snprintf(path, sizeof(path), "%s/profile.%d", dir, ++window);
	file = fopen(path, "w");
	if (!file)
		die("cannot write ", path);
	for (i = 1; i <= nodes.used; i++)
		fprintf(file, "N %u %u %" PRIx64 "\n", i,
			nodes.entries[i].parent, nodes.entries[i].pc);
	for (i = 0; i < (uint32_t)n_tasks; i++)
		fprintf(file, "T %u\n", tasks[i]->node);
	for (i = 1; i <= counts.used; i++)
		if (counts.entries[i].count)
			fprintf(file, "C %u %" PRIx64 " %" PRIu64 " %" PRIu64 "\n",
				counts.entries[i].parent, counts.entries[i].pc,
				counts.entries[i].count, counts.entries[i].times);
	if (fclose(file))
		die("cannot write ", path);
}

/* --- while QEMU translates --- */

/* Prefixes of the instructions that matter are REX, and those of padding. */
static enum ending ending_of(const uint8_t *code, size_t len)
{
	size_t i = 0;

	if (len >= 2 && code[0] == 0x48 && code[1] == 0xcf)
		return IRET;
	if (len >= 3 && code[0] == 0x48 && code[1] == 0x0f && code[2] == 0x07)
		return SYSRET;
	while (i < len && ((code[i] & 0xf0) == 0x40 || code[i] == 0x2e ||
			   code[i] == 0x3e || code[i] == 0xf3))
		i++;
	if (i == len)
		return NORMAL;
	if (code[i] == 0xe8)
		return CALL;
	if (code[i] == 0xc3 || code[i] == 0xc2)
		return RETURN;
	/* FF /2 */
	if (code[i] == 0xff && i + 1 < len && (code[i + 1] & 0x38) == 0x10)
		return CALL;
	return NORMAL;
}

static void mark(struct qemu_insn *insn, const uint8_t *code, size_t len)
{
	if (len != 3 || code[0] != 0x66 || code[1] != 0x87)
		return;
	if (code[2] == 0xdb)
		qemu_plugin_register_vcpu_insn_exec_cb(insn, begin, 0, NULL);
	else if (code[2] == 0xc9)
		qemu_plugin_register_vcpu_insn_exec_cb(insn, end, 0, NULL);
}

static void translated(qemu_plugin_id_t id, struct qemu_tb *tb)
{
	size_t i, len = 0, n = qemu_plugin_tb_n_insns(tb);
	struct qemu_insn *insn = NULL;
	struct block *block;
	uint8_t code[16];

	(void)id;
	/* QEMU keeps the pointer for as long as it likes. */
	block = calloc(1, sizeof(*block));
	if (!block)
		die("out of memory", "");
	for (i = 0; i < n; i++) {
		insn = qemu_plugin_tb_get_insn(tb, i);
		len = qemu_plugin_insn_data(insn, code, sizeof(code));
		if (!(qemu_plugin_insn_vaddr(insn) >> 63))
			mark(insn, code, len);
	}
	block->pc = qemu_plugin_tb_vaddr(tb);
	block->insns = n;
	if (insn) {
		block->end = qemu_plugin_insn_vaddr(insn) + len;
		block->ending = ending_of(code, len);
	}
	qemu_plugin_register_vcpu_tb_exec_cb(tb, executed, CB_R_REGS, block);
}

static void started(qemu_plugin_id_t id, unsigned int vcpu)
{
	struct byte_array *array = qemu_plugin_get_registers();
	struct reg_desc *reg = (void *)array->data;
	unsigned int i;

	(void)id;
	if (vcpu)
		die("more than one processor", "");
	for (i = 0; i < array->len; i++)
		if (!strcmp(reg[i].name, "rsi"))
			rsi = reg[i].handle;
	if (!rsi)
		die("no register rsi", "");
	value = g_byte_array_new();
	/* The unknown task that runs until the first switch. */
	task = task_find(0);
}

int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info,
			int argc, char **argv)
{
	(void)info;
	if (argc != 1 || strncmp(argv[0], "dir=", 4)) {
		fprintf(stderr, "insns: one argument: dir=DIRECTORY\n");
		return -1;
	}
	dir = strdup(argv[0] + 4);
	if (!dir)
		return -1;
	qemu_plugin_register_vcpu_init_cb(id, started);
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	return 0;
}
