/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An uncached file and this thread's engine for it. Commands begin and end, and completions
 * have results that a file does not give on demand.
 */
#ifndef TARGET_STAGED_H
#define TARGET_STAGED_H

#include "../../target/base/log.h"
#include "../../target/base/retry.h"
#include "../../target/base/util.h"
#include "../../target/staged/staged_io.h"
#include "../../target/store/sync_errors.h"

#define MEMORY		(16U << 20)
#define BLOCK		4096U

static char dir[64];

/* The disk of all files that are opened here */
static const uint8_t one_disk[RDMABLK_ID_LEN] = { 4, 5, 6 };

/* A file, and a thread's engine for it */
static struct place {
	char path[96];
	struct file file;		/* the open file */
	struct staged_file sf;		/* the same file */
	struct staged_engine engine;	/* engine of the calling thread */
	char *memory;			/* registered as buffer 0 */
	atomic_bool none;		/* always false: nothing is cancelled */
	bool open;
} place;

struct command {
	struct staged_io io;
	bool done;
	unsigned int nr;		/* in the order in which commands have ended */
};

static unsigned int ended;		/* number of commands */

static inline void done(struct staged_io *io)
{
	struct command *c = container_of(io, struct command, io);

	c->done = true;
	c->nr = __atomic_add_fetch(&ended, 1, __ATOMIC_RELAXED);
}

static inline void begin_on(struct staged_engine *e, struct command *c, uint16_t op, char *buf,
			    uint64_t offset, uint64_t bytes)
{
	c->done = false;
	c->io.engine = e;
	c->io.done = done;
	if (!c->io.cancel)
		c->io.cancel = &place.none;
	c->io.op = op;
	c->io.buf = buf;
	c->io.offset = offset;
	c->io.bytes = bytes;
	staged_begin(&c->io);
}

static inline void begin(struct command *c, uint16_t op, size_t from, uint64_t offset,
			 uint64_t bytes)
{
	begin_on(&place.engine, c, op, place.memory + from, offset, bytes);
}

static inline unsigned int end(struct command *c)
{
	while (!c->done)
		staged_engine_turn(c->io.engine, true);
	return c->io.status;
}

static inline unsigned int run(uint16_t op, size_t from, uint64_t offset, uint64_t bytes)
{
	struct command c = { 0 };

	begin(&c, op, from, offset, bytes);
	return end(&c);
}

static inline unsigned int write_fua(uint64_t offset, uint64_t bytes)
{
	struct command c = { .io.fua = true };

	begin(&c, RDMABLK_OP_WRITE, 0, offset, bytes);
	return end(&c);
}

static inline void pattern(char *buf, size_t bytes, uint64_t seed)
{
	for (size_t i = 0; i < bytes / 8; i++)
		memcpy(buf + 8 * i, &(uint64_t){ (seed + i) * 0x9e3779b97f4a7c15 }, 8);
}

static inline void make_engine(struct staged_engine *e, char **memory)
{
	*memory = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(*memory, MAP_FAILED);
	assert_int_equal(staged_engine_init(e, &place.sf, 8), 0);
	assert_int_equal(ring_set_buffer(&e->ring, 0, *memory, MEMORY), 0);
}

/*
 * Opens a file. @block: logical block of the export; @direct: direct I/O if the file system
 * can, or never. With direct I/O the file is taken for a device that can write durably.
 */
static inline void place_open(const char *in, uint64_t size, uint32_t block, bool direct)
{
	struct place *p = &place;
	struct file_params params = { .name = "test", .path = p->path, .block = block };
	static unsigned int files;	/* a test that has failed keeps its own */
	const uint8_t identity[RDMABLK_ID_LEN] = { 1, 2, 3, (uint8_t)files };
	int fd;

	if (p->open)
		staged_loss_forget(&p->sf);
	memset(p, 0, sizeof(*p));
	snprintf(p->path, sizeof(p->path), "%s/file%u", in, files++);
	fd = open(p->path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)size), 0);
	close(fd);
	assert_int_equal(file_open(&p->file, &params), 0);
	file_probe(&p->file);
	if (!direct && p->file.direct) {
		assert_int_equal(dup2(p->file.buffered, p->file.fd), p->file.fd);
		close(p->file.buffered);
		p->file.buffered = p->file.fd;
		p->file.direct = false;
	}
	p->file.fua = p->file.direct;
	staged_file_init(&p->sf, &p->file, identity, one_disk);
	p->open = true;
	make_engine(&p->engine, &p->memory);
}

static inline void place_close(void)
{
	staged_engine_exit(&place.engine);
	staged_file_exit(&place.sf);
	file_close(&place.file);
	munmap(place.memory, MEMORY);
	unlink(place.path);
	place.open = false;
}

static void (*real_ready)(struct ring_source *src, int res, unsigned int flags);
static int fake_res, fake_times, readies;
static bool keep_back, kept_back;
static struct ring_source *kept_by;
static int kept_res;

/* The first completions get another result; after them, completions can be kept back. */
static inline void fake_ready(struct ring_source *src, int res, unsigned int flags)
{
	readies++;
	if (keep_back && !fake_times) {
		kept_back = true;
		kept_by = src;
		kept_res = res;
		return;
	}
	if (fake_times > 0) {
		fake_times--;
		res = fake_res;
	}
	real_ready(src, res, flags);
}

static inline void fake(struct ring_source *src, int res, int times)
{
	real_ready = src->ready;
	src->ready = fake_ready;
	fake_res = res;
	fake_times = times;
	readies = 0;
}

/* Keeps back completions after the faked ones, from now on, and waits for the first. */
static inline void until_kept_back(void)
{
	keep_back = true;
	kept_back = false;
	while (!kept_back)
		staged_engine_turn(&place.engine, true);
}

static inline unsigned int run_faked(uint16_t op, bool fua, uint64_t bytes, int res, int times)
{
	struct command c = { .io.fua = fua };

	begin(&c, op, 0, 0, bytes);
	fake(&c.io.src, res, times);
	return end(&c);
}

static inline int place_dir_make(void)
{
	const char *tmp = getenv("TMPDIR");

	log_setup(getenv("VERBOSE") ? LOG_DEBUG : -1);
	snprintf(dir, sizeof(dir), "%s/staged.XXXXXX", tmp ?: "/tmp");
	return mkdtemp(dir) ? 0 : -1;
}

static inline void place_dir_remove(void)
{
	rmdir(dir);
}

#endif
