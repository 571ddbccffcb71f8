// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The next process knows the last writer of a file, whatever the file was exported as in
 * between. If the note of the writer cannot be written, or is damaged, no device may go on.
 *
 * Sources: target/export/last_writer.c target/export/export_writer.c
 *	   target/store/file_identity.c target/export/export.c
 * Libraries: libcrypto libsystemd liburing
 */
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <time.h>

#include "target_last_writer.h"

static void the_last_one_is_known(void **state)
{
	(void)state;
	expect_state("a", u, &f, LAST_WRITER_NONE);
	assert_int_equal(note("a", u, &f, &a), 0);
	assert_true(noted);
	expect("a", u, &f, &a);
	assert_int_equal(note("a", u, &f, &a), 0);
	assert_true(noted);
	expect("a", u, &f, &a);
	assert_int_equal(note("a", u, &f, &b), 0);
	expect("a", u, &f, &b);
	/* another export has no last writer, and noting one does not change this one's */
	expect_state("a", v, &g, LAST_WRITER_NONE);
	assert_int_equal(note("a", v, &g, &a), 0);
	expect("a", u, &f, &b);
	expect("a", v, &g, &a);
}

static void several_are_nobody(void **state)
{
	(void)state;
	assert_int_equal(note("b", u, &f, &a), 0);
	assert_int_equal(note("b", u, &f, NULL), 0);
	assert_true(noted);
	expect_state("b", u, &f, LAST_WRITER_NONE);
	assert_int_equal(note("b", u, &f, NULL), 0);
	assert_int_equal(note("b", u, &f, &a), 0);
	expect("b", u, &f, &a);
}

/* The writer of the other export does not know the later writes. */
static void a_file_that_was_another_export(void **state)
{
	(void)state;
	assert_int_equal(note("c", u, &f, &a), 0);
	expect_state("c", v, &f, LAST_WRITER_OTHER);
	assert_int_equal(note("c", v, &f, &b), 0);
	expect("c", v, &f, &b);
	expect_state("c", u, &f, LAST_WRITER_OTHER);
	/* also if the file has another identity, as a device may after a boot */
	expect_state("c", u, &g, LAST_WRITER_NONE);
	assert_int_equal(note("c", u, &f, &a), 0);
	expect("c", u, &f, &a);
	expect_state("c", v, &f, LAST_WRITER_OTHER);
	expect_state("c", v, &g, LAST_WRITER_NONE);
}

/* An export moves to another file, and a third file takes the place of the first. */
static void another_file(void **state)
{
	(void)state;
	assert_int_equal(note("d", u, &f, &a), 0);
	expect("d", u, &g, &a);
	assert_int_equal(note("d", v, &heir, &b), 0);
	expect("d", u, &g, &a);
	expect("d", v, &heir, &b);
}

static void there_is_no_place(void **state)
{
	(void)state;
	files_text(files_path("no"), "no directory\n");
	expect_state("no/dir", u, &f, LAST_WRITER_NONE);
	assert_int_equal(note("no/dir", u, &f, &a), 0);
	assert_false(noted);
	assert_int_equal(note("no/dir", u, &f, NULL), 0);
	assert_false(noted);
	expect_state("no/dir", u, &f, LAST_WRITER_NONE);
}

static void fill(const char *name)
{
	char block[4096] = { 0 };
	int fd = open(files_path(name), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	while (write(fd, block, sizeof(block)) > 0)
		;
	close(fd);
}

/* Without space for a new note the old one is removed, which needs no space. */
static void there_is_no_space(void **state)
{
	(void)state;
	if (!files_tmpfs("small", "size=64k"))
		skip();
	assert_int_equal(note("small", u, &f, &a), 0);
	fill("small/fill");
	assert_int_equal(note("small", u, &f, &a), 0);
	expect("small", u, &f, &a);
	assert_int_equal(note("small", u, &f, &b), 0);
	assert_false(noted);
	expect_state("small", u, &f, LAST_WRITER_NONE);
	/* nor is there space to note that the file is another export now */
	fill("small/fill");
	assert_int_equal(note("small", v, &f, &b), 0);
	expect_state("small", v, &f, LAST_WRITER_OTHER);
	expect_state("small", u, &f, LAST_WRITER_NONE);
	assert_int_equal(unlink(files_path("small/fill")), 0);
	assert_int_equal(note("small", v, &f, &b), 0);
	expect("small", v, &f, &b);
	expect_state("small", u, &f, LAST_WRITER_OTHER);
	umount2(files_path("small"), MNT_DETACH);
}

static bool remount(const char *name, unsigned long flags)
{
	return !mount("none", files_path(name), NULL, MS_REMOUNT | flags, NULL);
}

/* If the old note cannot be removed, no other device may write. */
static void nothing_can_be_written(void **state)
{
	(void)state;
	if (!files_tmpfs("small", "size=64k"))
		skip();
	assert_int_equal(note("small", u, &f, &a), 0);
	assert_true(remount("small", MS_RDONLY));
	assert_int_equal(note("small", u, &f, &a), 0);
	assert_int_equal(note("small", u, &f, &b), -EROFS);
	assert_int_equal(note("small", u, &f, NULL), -EROFS);
	assert_int_equal(note("small", v, &f, &b), -EROFS);
	expect("small", u, &f, &a);
	/* another export of another file has no note that would have to be removed */
	assert_int_equal(note("small", v, &g, &b), 0);
	expect_state("small", v, &g, LAST_WRITER_NONE);
	assert_true(remount("small", 0));
	assert_int_equal(note("small", v, &f, &b), 0);
	expect_state("small", u, &f, LAST_WRITER_OTHER);
	umount2(files_path("small"), MNT_DETACH);
}

static size_t text_of(const char *path, char *text, size_t room)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, text, room);

	assert_true(n > 0);
	close(fd);
	return (size_t)n;
}

static void set_text(const char *path, const char *text, size_t len)
{
	int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);

	assert_int_equal(write(fd, text, len), len);
	close(fd);
}

/* A note that is cut short, has a wrong byte, is too long, or is of another export is ignored. */
static void what_is_no_note(void **state)
{
	for (int own = 0; own < 2; own++) {
		const char *dir = own ? "e" : "h";
		const char *path = own ? note_of(dir, "export", u) :
					 note_of(dir, "file", f.place);
		char text[200], bad[200];
		size_t len;

		(void)state;
		assert_int_equal(note(dir, u, &f, &a), 0);
		len = text_of(path, text, sizeof(text) - 1);
		for (size_t i = 0; i < len; i++) {
			set_text(path, text, i);
			expect_state(dir, u, &f, LAST_WRITER_NONE);
			memcpy(bad, text, len);
			bad[i] = bad[i] == 'x' ? 'y' : 'x';
			set_text(path, bad, len);
			expect_state(dir, u, &f, LAST_WRITER_NONE);
			bad[i] = '\0';
			set_text(path, bad, len);
			expect_state(dir, u, &f, LAST_WRITER_NONE);
		}
		text[len] = '\n';
		set_text(path, text, len + 1);
		expect_state(dir, u, &f, LAST_WRITER_NONE);
		/* the next writer is known again */
		assert_int_equal(note(dir, u, &f, &b), 0);
		expect(dir, u, &f, &b);
	}
	assert_int_equal(note("e", v, &g, &a), 0);
	assert_int_equal(rename(note_of("e", "export", v), note_of("e", "export", u)), 0);
	expect_state("e", u, &f, LAST_WRITER_NONE);
}

/* A link in place of a note is not followed or written through; a FIFO is not waited for. */
static void what_is_no_file(void **state)
{
	const char *path;

	(void)state;
	assert_int_equal(note("i", u, &f, &a), 0);
	path = note_of("i", "export", u);
	assert_int_equal(rename(path, files_path("elsewhere")), 0);
	assert_int_equal(symlink(files_path("elsewhere"), path), 0);
	expect_state("i", u, &f, LAST_WRITER_NONE);
	assert_int_equal(note("i", u, &f, &a), 0);
	expect("i", u, &f, &a);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	expect_state("i", u, &f, LAST_WRITER_NONE);
	assert_int_equal(unlink(path), 0);
	/* a directory cannot be removed like a note, so no device may write */
	assert_int_equal(mkdir(path, 0755), 0);
	expect_state("i", u, &f, LAST_WRITER_NONE);
	assert_true(note("i", u, &f, &a) < 0);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(note("i", u, &f, &a), 0);
	expect("i", u, &f, &a);
}

/* A file has the same mark under any name; another file of that name has another mark. */
static void marks(void **state)
{
	const struct file_params params = { .name = "d", .path = files_path("file") };
	struct file_mark first, again, other;
	struct file file;

	(void)state;
	files_new("file", SIZE);
	assert_int_equal(file_open(&file, &params), 0);
	assert_int_equal(file_mark(&file, &first), 0);
	file_close(&file);
	assert_int_equal(rename(files_path("file"), files_path("renamed")), 0);
	assert_int_equal(symlink(files_path("renamed"), files_path("file")), 0);
	assert_int_equal(file_open(&file, &params), 0);
	assert_int_equal(file_mark(&file, &again), 0);
	file_close(&file);
	assert_memory_equal(&first, &again, sizeof(first));
	unlink(files_path("renamed"));
	files_new("renamed", SIZE);
	assert_int_equal(file_open(&file, &params), 0);
	assert_int_equal(file_mark(&file, &other), 0);
	file_close(&file);
	assert_memory_not_equal(first.id, other.id, sizeof(first.id));
}

static void mark_of(const char *path, struct file_mark *mark)
{
	const struct file_params params = { .name = "d", .path = path };
	struct file file;

	assert_int_equal(file_open(&file, &params), 0);
	assert_int_equal(file_mark(&file, mark), 0);
	file_close(&file);
}

/* Another device may get the number of one that is gone, but has another identity. */
static void marks_of_devices(void **state)
{
	const char *path = files_new("disk", SIZE);
	struct file_mark first, other;
	char dev[64];

	(void)state;
	if (!files_loop(path, 512, dev, sizeof(dev)))
		skip();
	mark_of(dev, &first);
	mark_of(dev, &other);
	assert_memory_equal(&first, &other, sizeof(first));
	files_unloop(dev);
	if (files_run("losetup %s %s", dev, path))
		skip();
	mark_of(dev, &other);
	files_unloop(dev);
	assert_memory_equal(first.place, other.place, sizeof(first.place));
	assert_memory_not_equal(first.id, other.id, sizeof(first.id));
}

/* The same device may go on in this daemon and the next one, with a cache or without. */
static void who_may_go_on(void **state)
{
	static const char * const caches[] = { "cache=none", "cache=full" };

	(void)state;
	files_new("disk0", SIZE);
	for (size_t i = 0; i < ARRAY_SIZE(caches); i++) {
		const char *dir = caches[i];

		/* without any note nobody may resume */
		start_with(dir, spec_of("d", "disk0", caches[i]));
		assert_int_equal(may("d"), 0);
		let_write("d", &lease_a);
		assert_int_equal(may("d"), 1);
		stop();
		start_with(dir, spec_of("d", "disk0", caches[i]));
		assert_int_equal(may("d"), 1);
		let_write("d", &lease_b);
		assert_int_equal(may("d"), 2);
		stop();
		assert_int_equal(resume_of(dir, spec_of("d", "disk0", caches[i])), 2);
		/* a reader does not count as the last writer, and may always resume */
		start_with(dir, spec_of("d", "disk0", caches[i]));
		lease_a.writer = false;
		let_write("d", &lease_a);
		assert_int_equal(may("d"), 3);
		lease_a.writer = true;
		assert_int_equal(may("d"), 2);
		stop();
		assert_int_equal(resume_of(dir, spec_of("d", "disk0", caches[i])), 2);
	}
}

/* The UUID counts, not the kind of store, the name of the export or its file. */
static void under_another_name(void **state)
{
	static const char uuid[] = "cache=none,uuid=6f1c1f6e-0f3c-4f0e-9d0a-4b8f3a9f1c11";
	static const char full[] = "cache=full,uuid=6f1c1f6e-0f3c-4f0e-9d0a-4b8f3a9f1c11";
	static const char other[] = "cache=none,uuid=7f1c1f6e-0f3c-4f0e-9d0a-4b8f3a9f1c11";

	(void)state;
	files_new("disk1", SIZE);
	files_new("disk2", SIZE);
	start_with("names", spec_of("d", "disk1", uuid));
	let_write("d", &lease_a);
	stop();
	assert_int_equal(resume_of("names", spec_of("d", "disk1", full)), 1);
	start_with("names", spec_of("e", "disk1", uuid));
	assert_int_equal(may("e"), 1);
	let_write("e", &lease_b);
	stop();
	assert_int_equal(resume_of("names", spec_of("d", "disk1", uuid)), 2);
	/* moved to another file */
	assert_int_equal(resume_of("names", spec_of("d", "disk2", uuid)), 2);
	/* and as an export with another UUID */
	start_with("names", spec_of("e", "disk1", other));
	assert_int_equal(may("e"), 0);
	let_write("e", &lease_a);
	stop();
	assert_int_equal(resume_of("names", spec_of("d", "disk1", uuid)), 0);
	assert_int_equal(resume_of("names", spec_of("d", "disk1", other)), 1);
}

/* A host id and an instance id of zeroes identify no device, so none may go on. */
static void without_a_name(void **state)
{
	struct lease lease = { .writer = true };

	(void)state;
	files_new("disk8", SIZE);
	start_with("zero", spec_of("d", "disk8", "cache=none"));
	assert_true(let_write("d", &lease));
	assert_false(export_resumable(export_find("d"), &lease));
	assert_int_equal(may("d"), 0);
	stop();
	assert_int_equal(resume_of("zero", spec_of("d", "disk8", "cache=none")), 0);
}

/* No writer of a shared export has seen all writes, so none goes on when it is shared no more. */
static void once_shared(void **state)
{
	(void)state;
	files_new("disk3", SIZE);
	start_with("shared", spec_of("d", "disk3", "cache=none"));
	let_write("d", &lease_a);
	stop();
	start_with("shared", spec_of("d", "disk3", "cache=none,shared"));
	assert_int_equal(may("d"), 3);
	let_write("d", &lease_b);
	let_write("d", &lease_a);
	assert_int_equal(may("d"), 3);
	stop();
	assert_int_equal(resume_of("shared", spec_of("d", "disk3", "cache=none")), 0);
}

/*
 * When a file is opened again, the writer that this process knew counts only if its note is
 * still there. Any other daemon that has written the file since has removed or replaced it.
 */
static void opened_anew(void **state)
{
	const char *path;
	struct export *e;

	(void)state;
	files_new("disk4", SIZE);
	start_with("anew", spec_of("d", "disk4", "cache=none"));
	let_write("d", &lease_a);
	renew("d");
	assert_int_equal(may("d"), 1);
	e = export_find("d");
	path = note_of("anew", "export", e->store.uuid);
	files_text(path, "no note\n");
	renew("d");
	assert_int_equal(may("d"), 0);
	let_write("d", &lease_a);
	renew("d");
	assert_int_equal(may("d"), 1);
	assert_int_equal(unlink(path), 0);
	renew("d");
	assert_int_equal(may("d"), 0);
	let_write("d", &lease_a);
	/* another daemon has had it in between */
	export_quiet(e);
	export_close(e);
	assert_int_equal(note("anew", e->store.uuid, &e->store.mark, &b), 0);
	export_renew(e, e->cfg);
	assert_int_equal(export_open(e), 0);
	assert_int_equal(export_begin(e), 0);
	assert_int_equal(may("d"), 0);
	stop();
	/* the daemon goes on if an administrator removes a note */
	start_with("anew", spec_of("d", "disk4", "cache=none"));
	let_write("d", &lease_a);
	assert_int_equal(unlink(path), 0);
	stop();
	assert_int_equal(resume_of("anew", spec_of("d", "disk4", "cache=none")), 0);
}

/* A writer that comes back needs no new note, as long as nobody else has come. */
static void noted_once(void **state)
{
	struct export *e;

	(void)state;
	files_new("disk7", SIZE);
	start_with("once", spec_of("d", "disk7", "cache=none"));
	e = export_find("d");
	assert_true(let_write("d", &lease_a));
	assert_false(let_write("d", &lease_a));
	lease_b.writer = false;
	assert_false(let_write("d", &lease_b));
	lease_b.writer = true;
	assert_false(let_write("d", &lease_a));
	assert_true(let_write("d", &lease_b));
	assert_true(let_write("d", &lease_a));
	/* a writer that may or may not have been noted */
	export_lease(e, &lease_b);
	assert_true(export_note_due(e, &lease_b));
	export_release(&lease_b);
	/* nor has it written: its login went no further */
	assert_int_equal(may("d"), 1);
	assert_true(let_write("d", &lease_a));
	assert_false(let_write("d", &lease_a));
	renew("d");
	assert_true(let_write("d", &lease_a));
	stop();
	start_with("once", spec_of("d", "disk7", "cache=none,shared"));
	assert_true(let_write("d", &lease_a));
	assert_false(let_write("d", &lease_b));
	assert_false(let_write("d", &lease_a));
	stop();
}

/* Nobody writes a read-only export, so nothing is noted. */
static void read_only(void **state)
{
	static const char ro[] = "cache=none,ro,uuid=6f1c1f6e-0f3c-4f0e-9d0a-4b8f3a9f1c11";

	(void)state;
	files_new("disk5", SIZE);
	start_with("ro", spec_of("d", "disk5", ro));
	assert_false(export_find("d")->store.marked);
	stop();
	assert_int_not_equal(access(files_path("ro/" LAST_WRITER_DIR), F_OK), 0);
}

/* The trailer of an arena and the note must agree. If one of them is missing, the other counts. */
static void with_an_arena(void **state)
{
	uint8_t uuid[16];
	struct file_mark mark;
	struct export *e;
	char with[200];

	(void)state;
	if (!files_tmpfs("kept", "size=8m"))
		skip();
	files_new("disk6", SIZE);
	snprintf(with, sizeof(with), "cache=full,arena=%s", files_path("kept/arena"));
	start_with("arena", spec_of("d", "disk6", with));
	let_write("d", &lease_a);
	memcpy(uuid, export_find("d")->store.uuid, sizeof(uuid));
	mark = export_find("d")->store.mark;
	stop();
	assert_int_equal(resume_of("arena", spec_of("d", "disk6", with)), 1);
	assert_int_equal(unlink(note_of("arena", "export", uuid)), 0);
	assert_int_equal(resume_of("arena", spec_of("d", "disk6", with)), 1);
	assert_int_equal(note("arena", uuid, &mark, &b), 0);
	assert_int_equal(resume_of("arena", spec_of("d", "disk6", with)), 0);
	/* B writes the file without the arena, which then has to be filled again */
	start_with("arena", spec_of("d", "disk6", "cache=full"));
	let_write("d", &lease_b);
	stop();
	files_write(files_path("disk6"), 0, 4096, 1);
	assert_int_equal(resume_of("arena", spec_of("d", "disk6", with)), 2);
	/* another program writes the file: the writer in the trailer does not count for it */
	start_with("arena", spec_of("d", "disk6", with));
	let_write("d", &lease_a);
	stop();
	files_write(files_path("disk6"), 0, 4096, 2);
	assert_int_equal(unlink(note_of("arena", "export", uuid)), 0);
	assert_int_equal(resume_of("arena", spec_of("d", "disk6", with)), 0);
	assert_int_equal(resume_of("arena", spec_of("d", "disk6", with)), 0);
	/* the trailer says that nobody may go on, whatever the notes say */
	start_with("arena", spec_of("d", "disk6", with));
	let_write("d", &lease_b);
	e = export_find("d");
	memset(&e->store.writer, 0xff, sizeof(e->store.writer));
	e->store.ops->written_by(&e->store);
	stop();
	assert_int_equal(resume_of("arena", spec_of("d", "disk6", with)), 0);
	/* the arena is gone, as after a boot */
	assert_int_equal(unlink(files_path("kept/arena")), 0);
	assert_int_equal(resume_of("arena", spec_of("d", "disk6", with)), 2);
	umount2(files_path("kept"), MNT_DETACH);
}

/* A new memory store has zeroes that nobody has written, so every device may go on. */
static void memory(void **state)
{
	(void)state;
	start_with("memory", "d,memory,size=1M,hugepages=no,block=512");
	assert_int_equal(may("d"), 3);
	let_write("d", &lease_a);
	assert_int_equal(may("d"), 1);
	stop();
	assert_int_equal(resume_of("memory", "d,memory,size=1M,hugepages=no,block=512"), 3);
	assert_int_not_equal(access(files_path("memory/" LAST_WRITER_DIR), F_OK), 0);
}

static const char *hangs;	/* opening a file in this directory waits for @answers */
static sem_t asked, answers;

int open(const char *path, int flags, ...)
{
	unsigned int mode = 0;
	va_list args;

	va_start(args, flags);
	if (flags & O_CREAT)
		mode = va_arg(args, unsigned int);
	va_end(args);
	if (hangs && !strncmp(path, hangs, strlen(hangs))) {
		sem_post(&asked);
		sem_wait(&answers);
	}
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

static void *read_notes(void *of)
{
	struct store_writer last;

	return last_writer_read(of, &last) == LAST_WRITER_NONE ? of : NULL;
}

/* A directory that hangs stops no export whose notes are in another directory. */
static void a_directory_that_hangs_is_alone(void **state)
{
	static const uint8_t uuid[RDMABLK_ID_LEN] = { 0xaa };
	static const struct file_mark mark = { .place = { 1 }, .id = { 1 } };
	struct last_writer_dir known_of[2] = { 0 };
	char dir[2][240];
	struct last_writer_of export[2];
	struct timespec until;
	pthread_t thread[2];
	void *read[2] = { NULL, NULL };

	(void)state;
	sem_init(&asked, 0, 0);
	sem_init(&answers, 0, 0);
	for (int i = 0; i < 2; i++) {
		snprintf(dir[i], sizeof(dir[i]), "%s", files_path(i ? "fast" : "slow"));
		export[i] = (struct last_writer_of){ .dir = dir[i], .dir_state = &known_of[i],
						     .name = "d", .uuid = uuid, .mark = &mark };
	}
	hangs = dir[0];
	assert_int_equal(pthread_create(&thread[0], NULL, read_notes, &export[0]), 0);
	sem_wait(&asked);
	assert_int_equal(pthread_create(&thread[1], NULL, read_notes, &export[1]), 0);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 60;
	pthread_timedjoin_np(thread[1], &read[1], &until);
	for (int i = 0; i < 9; i++)
		sem_post(&answers);
	assert_int_equal(pthread_join(thread[0], &read[0]), 0);
	hangs = NULL;
	assert_ptr_equal(read[0], &export[0]);
	assert_ptr_equal(read[1], &export[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_last_one_is_known),
		cmocka_unit_test(several_are_nobody),
		cmocka_unit_test(a_file_that_was_another_export),
		cmocka_unit_test(another_file),
		cmocka_unit_test(there_is_no_place),
		cmocka_unit_test(there_is_no_space),
		cmocka_unit_test(nothing_can_be_written),
		cmocka_unit_test(what_is_no_note),
		cmocka_unit_test(what_is_no_file),
		cmocka_unit_test(marks),
		cmocka_unit_test(marks_of_devices),
		cmocka_unit_test(who_may_go_on),
		cmocka_unit_test(under_another_name),
		cmocka_unit_test(without_a_name),
		cmocka_unit_test(once_shared),
		cmocka_unit_test(opened_anew),
		cmocka_unit_test(noted_once),
		cmocka_unit_test(read_only),
		cmocka_unit_test(with_an_arena),
		cmocka_unit_test(memory),
		cmocka_unit_test(a_directory_that_hangs_is_alone),
	};

	return cmocka_run_group_tests_name("last_writer", tests, files_setup, files_teardown);
}
