// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Pages of an arena that must be on one NUMA node: how much the kernel is asked to move at a
 * time, and what is left when it fails, or when nobody waits any more. The test replaces mbind(),
 * notes the calls and chooses their results.
 *
 * Sources: target/store/pages.c target/rdma/numa.c target/store/store_full.c
 * Libraries: libcrypto libsystemd liburing
 */
#include "target_full.h"

#include <dlfcn.h>
#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "../../target/base/log.h"
#include "../../target/store/pages.h"

#define SIZE		(2 * MIB)
#define BASE_PAGE	(4 * KIB)
#define HUGE_PAGE	(2 * MIB)
#define POPULATE	23	/* MADV_POPULATE_WRITE */
#define NODE		3

static const struct numa_place only = { .placed = true, .only = true, .node = NODE };
static char why[256];

/* What the kernel was asked, and what it answers */
static struct {
	struct {
		unsigned int mode;
		uint64_t from;	/* in the arena */
		uint64_t bytes;
	} call[256];
	size_t calls;
	size_t moves;		/* calls with MPOL_BIND */
	size_t fail_at;		/* the move that fails, with @error */
	int error;
	size_t cancel_at;	/* the move during which @store is cancelled */
	struct store *store;
	bool sparse;		/* populating leaves holes */
} kernel;

static long do_mbind(uint64_t from, uint64_t bytes, unsigned int mode,
		     const unsigned long *nodes)
{
	size_t i = kernel.calls++;

	assert_in_range(i, 0, ARRAY_SIZE(kernel.call) - 1);
	assert_int_equal(nodes[0], 1UL << NODE);
	kernel.call[i].mode = mode;
	kernel.call[i].from = from - (uintptr_t)kernel.store->base;
	kernel.call[i].bytes = bytes;
	if (mode != MPOL_BIND)
		return 0;
	kernel.moves++;
	if (kernel.moves == kernel.cancel_at)
		atomic_store(&kernel.store->cancelled, true);
	if (kernel.moves != kernel.fail_at)
		return 0;
	errno = kernel.error;
	return -1;
}

/* Replaces the function of the C library. It refuses to get or set the policy of a thread. */
long syscall(long number, ...)
{
	static long (*real)(long number, ...);
	va_list list;
	long arg[6];

	va_start(list, number);
	for (size_t i = 0; i < ARRAY_SIZE(arg); i++)
		arg[i] = va_arg(list, long);
	va_end(list);
	if (number == SYS_mbind)
		return do_mbind((uint64_t)arg[0], (uint64_t)arg[1], (unsigned int)arg[2],
				(const unsigned long *)arg[3]);
	if (number == SYS_get_mempolicy || number == SYS_set_mempolicy) {
		errno = EPERM;
		return -1;
	}
	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "syscall");
	return real(number, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
}

int madvise(void *from, size_t bytes, int advice)
{
	if (kernel.sparse && advice == POPULATE)
		return 0;
	return (int)syscall(SYS_madvise, from, bytes, (long)advice);
}

static void make_store(struct store *s, uint64_t page_size, uint64_t bytes)
{
	memset(&kernel, 0, sizeof(kernel));
	kernel.store = s;
	kernel.sparse = true;
	why[0] = '\0';
	*s = (struct store){ .page_size = page_size, .mapped = bytes, .place = only };
	s->fd = memfd_create("d", MFD_CLOEXEC);
	assert_true(s->fd >= 0);
	assert_int_equal(ftruncate(s->fd, (off_t)bytes), 0);
	assert_int_equal(pages_map(s, "d", 0), 0);
}

static int populate(struct store *s, uint64_t from)
{
	int ret;

	log_keep(why, sizeof(why));
	ret = pages_populate(s, "d", from);
	log_keep(NULL, 0);
	return ret;
}

/*
 * After each move its pages may move again, before the next move is asked for. Return: where
 * the moves end
 */
static uint64_t moved(uint64_t from, uint64_t most)
{
	assert_int_equal(kernel.calls, 2 * kernel.moves);
	for (size_t i = 0; i < kernel.calls; i += 2) {
		assert_int_equal(kernel.call[i].mode, MPOL_BIND);
		assert_true(kernel.call[i].from == from);
		assert_in_range(kernel.call[i].bytes, 1, most);
		assert_int_equal(kernel.call[i + 1].mode, MPOL_PREFERRED);
		assert_true(kernel.call[i + 1].from == from);
		assert_true(kernel.call[i + 1].bytes == kernel.call[i].bytes);
		from += kernel.call[i].bytes;
	}
	return from;
}

static const struct {
	uint64_t page_size, most;
} kinds[] = {
	{ BASE_PAGE, 64 * MIB },
	{ HUGE_PAGE, 1024 * MIB },
};

static void step_by_step(void **state)
{
	struct store s;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		const uint64_t page = kinds[i].page_size, step = kinds[i].most;
		const uint64_t bytes[] = { page, step, step + page, 3 * step - page };

		for (size_t j = 0; j < 2 * ARRAY_SIZE(bytes); j++) {
			uint64_t from = j % 2 * page;

			make_store(&s, page, from + bytes[j / 2]);
			assert_int_equal(populate(&s, from), 0);
			assert_true(moved(from, step) == s.mapped);
			/* there are no more moves than needed */
			assert_int_equal(kernel.moves, (bytes[j / 2] + step - 1) / step);
			pages_release(&s, 0);
		}
	}
}

static void nobody_insists(void **state)
{
	struct store s;

	(void)state;
	make_store(&s, BASE_PAGE, 200 * MIB);
	s.place.only = false;
	assert_int_equal(populate(&s, 0), 0);
	assert_int_equal(kernel.calls, 1);
	assert_int_equal(kernel.call[0].mode, MPOL_PREFERRED);
	assert_true(kernel.call[0].from == 0 && kernel.call[0].bytes == s.mapped);
	s.place.placed = false;
	assert_int_equal(populate(&s, 0), 0);
	assert_int_equal(kernel.calls, 1);
	pages_release(&s, 0);
}

/* When nobody waits any more, the moves stop, and no error is logged. */
static void no_longer_wanted(void **state)
{
	struct store s;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		make_store(&s, kinds[i].page_size, 4 * kinds[i].most);
		kernel.cancel_at = 2;
		assert_int_equal(populate(&s, 0), -ECANCELED);
		assert_true(moved(0, kinds[i].most) == 2 * kinds[i].most);
		assert_string_equal(why, "");
		pages_release(&s, 0);
	}
}

static void too_little_there(void **state)
{
	struct store s;

	(void)state;
	make_store(&s, BASE_PAGE, 300 * MIB);
	kernel.fail_at = 3;
	kernel.error = EIO;
	assert_int_equal(populate(&s, 0), -EIO);
	assert_true(moved(0, 64 * MIB) == 192 * MIB);
	assert_non_null(strstr(why, "export d: not all of its memory can be on NUMA node 3"));
	assert_non_null(strstr(why, ": the node has too little"));
	pages_release(&s, 0);
}

/* Bytes of memory that a store has */
static uint64_t memory_of(const struct store *s)
{
	struct stat st;

	assert_int_equal(fstat(s->fd, &st), 0);
	assert_true((uint64_t)st.st_size == s->mapped);
	return (uint64_t)st.st_blocks * 512;
}

/* A growth that fails gives back all the memory it had got, which may be on a wrong node. */
static void a_growth_that_comes_to_nothing(void **state)
{
	const char *path = files_new("grow", SIZE);
	uint64_t size;
	struct store s;

	(void)state;
	memset(&kernel, 0, sizeof(kernel));
	kernel.store = &s;
	files_write(path, 0, SIZE, 1);
	full_config(path)->huge_pages = HUGE_NO;
	assert_int_equal(full_open(&s, &full_ec), 0);
	assert_true(memory_of(&s) == SIZE);
	s.place = only;
	assert_int_equal(truncate(path, SIZE + 100 * MIB), 0);
	files_write(path, SIZE + 99 * MIB, MIB, 2);
	kernel.error = EIO;
	for (kernel.fail_at = 1; kernel.fail_at <= 2; kernel.fail_at++) {
		kernel.moves = 0;
		size = 0;
		assert_int_equal(s.ops->grow(&s, &size, UINT64_MAX), -EIO);
		assert_true(size == SIZE && s.mapped == SIZE);
		assert_true(memory_of(&s) == SIZE);
		assert_true(full_has(&s, 0, SIZE, 1));
	}
	/* now the node has room */
	kernel.fail_at = 0;
	size = 0;
	assert_int_equal(s.ops->grow(&s, &size, UINT64_MAX), 0);
	assert_true(size == SIZE + 100 * MIB && memory_of(&s) == size);
	assert_true(full_has(&s, 0, SIZE, 1) && full_has(&s, SIZE + 99 * MIB, MIB, 2));
	assert_true(full_is_zero(&s, SIZE, 99 * MIB));
	full_close(&s);
}

/* Return: whether the kernel's flags of the mapping that begins at @base have @flag */
static bool has_flag(const void *base, const char *flag)
{
	FILE *file = fopen("/proc/self/smaps", "re");
	char line[512], start[32];
	bool there = false, has = false;

	assert_non_null(file);
	snprintf(start, sizeof(start), "%lx-", (unsigned long)(uintptr_t)base);
	while (fgets(line, sizeof(line), file)) {
		if (!strncmp(line, start, strlen(start)))
			there = true;
		if (there && !strncmp(line, "VmFlags:", 8)) {
			has = strstr(line, flag);
			break;
		}
	}
	fclose(file);
	assert_true(there);
	return has;
}

static void no_core_dump_has_it(void **state)
{
	struct store s;

	(void)state;
	make_store(&s, BASE_PAGE, 2 * MIB);
	assert_true(has_flag(s.base, " dd"));
	pages_release(&s, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(step_by_step),
		cmocka_unit_test(nobody_insists),
		cmocka_unit_test(no_longer_wanted),
		cmocka_unit_test(too_little_there),
		cmocka_unit_test(a_growth_that_comes_to_nothing),
		cmocka_unit_test(no_core_dump_has_it),
	};

	numa_sysfs = "/nowhere";
	return cmocka_run_group_tests_name("pages", tests, files_setup, files_teardown);
}
