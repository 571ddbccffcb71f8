// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A guest for 111, without an operating system: Linux would take many minutes to start in a
 * guest of an emulated machine. QEMU starts it as a multiboot kernel.
 *
 * It writes blocks to its virtio disk, one after the other, each with its number in it, and a
 * flush behind each. It says so on the serial port, until a byte arrives there. Then it reads
 * and compares all blocks, discards some space, and powers the machine off.
 */
#include <stdint.h>

#define BLOCK		4096
#define SECTOR		512
#define BLOCKS		8191	/* at most */
#define DISCARD_AT	(40 << 20)
#define DISCARD_LEN	(4 << 20)

/* ports of a PC with the chipset q35 */
#define PORT_SERIAL	0x3f8
#define PORT_POWER	0x604
#define PORT_TIMER	0x608
#define PORT_PCI_AT	0xcf8
#define PORT_PCI	0xcfc
#define TIMER_HZ	3579545
#define TIMER_MASK	0xffffff
#define POWER_OFF	0x2000

/* virtio, legacy interface: registers behind the first base address */
#define VIRTIO_BLK	0x10011af4
#define REG_FEATURES	0
#define REG_ACCEPTED	4
#define REG_QUEUE_PAGE	8
#define REG_QUEUE_LEN	12
#define REG_QUEUE	14
#define REG_NOTIFY	16
#define REG_STATUS	18
#define REG_CAPACITY	20
#define FEATURE_FLUSH	(1 << 9)
#define FEATURE_DISCARD	(1 << 13)
#define STATUS_DRIVER	3
#define STATUS_OK	7
#define DESC_NEXT	1
#define DESC_WRITE	2
#define QUEUE_MAX	1024

enum { READ = 0, WRITE = 1, FLUSH = 4, DISCARD = 11 };

struct desc {
	uint64_t addr;
	uint32_t len;
	uint16_t flags, next;
};

struct avail {
	uint16_t flags, idx, ring[];
};

struct used {
	uint16_t flags, idx;
};

static uint8_t queue[65536] __attribute__((aligned(4096)));
static uint8_t block[BLOCK] __attribute__((aligned(4096)));
__attribute__((used)) uint8_t stack[16384];
static uint16_t disk, queue_len;

/* QEMU looks for the header of multiboot in the first 8 KiB of the file. */
asm(".pushsection .text\n"
	"	.balign 4\n"
	"	.long 0x1badb002, 0, -0x1badb002\n"
	".globl _start\n"
	"_start:\n"
	"	movl $stack + 16384, %esp\n"
	"	cld\n"
	"	call run\n"
	".popsection\n");

#define PORT_ACCESS(suffix, type, operand)					\
static inline void out##suffix(uint16_t port, type value)			\
{										\
	asm volatile("out" #suffix " %" operand "0, %1"				\
		     : : "a" (value), "d" (port) : "memory");			\
}										\
										\
static inline type in##suffix(uint16_t port)					\
{										\
	type value;								\
										\
	asm volatile("in" #suffix " %1, %" operand "0"				\
		     : "=a" (value) : "d" (port) : "memory");			\
	return value;								\
}

PORT_ACCESS(b, uint8_t, "b")
PORT_ACCESS(w, uint16_t, "w")
PORT_ACCESS(l, uint32_t, "k")

/*
 * Serial port
 */

static void say(const char *text)
{
	for (; *text; text++) {
		while (!(inb(PORT_SERIAL + 5) & 0x20))
			;
		outb(PORT_SERIAL, *text);
	}
}

static void say_number(uint32_t n)
{
	char digits[11], *p = digits + 10;

	*p = 0;
	do {
		*--p = '0' + n % 10;
		n /= 10;
	} while (n);
	say(p);
}

static void say_about(const char *text, uint32_t n)
{
	say(text);
	say_number(n);
	say("\n");
}

static int told_to_end(void)
{
	return inb(PORT_SERIAL + 5) & 1;
}

/* Waits so long that the guest does not fill its disk. */
static void pause(void)
{
	uint32_t start = inl(PORT_TIMER);

	while (((inl(PORT_TIMER) - start) & TIMER_MASK) < TIMER_HZ / 10 && !told_to_end())
		;
}

/*
 * Disk
 */

static uint32_t pci_read(uint32_t slot, uint32_t reg)
{
	outl(PORT_PCI_AT, 1u << 31 | slot << 11 | reg);
	return inl(PORT_PCI);
}

/* Return: 0, or -1 without a disk */
static int disk_start(void)
{
	uint32_t slot;

	for (slot = 0; pci_read(slot, 0) != VIRTIO_BLK; slot++)
		if (slot == 31)
			return -1;
	disk = pci_read(slot, 0x10) & ~3;
	outl(PORT_PCI_AT, 1u << 31 | slot << 11 | 4);
	outw(PORT_PCI, inw(PORT_PCI) | 5);	/* ports, and access to memory */

	outb(disk + REG_STATUS, 0);
	outb(disk + REG_STATUS, STATUS_DRIVER);
	outl(disk + REG_ACCEPTED,
	     inl(disk + REG_FEATURES) & (FEATURE_FLUSH | FEATURE_DISCARD));
	outw(disk + REG_QUEUE, 0);
	queue_len = inw(disk + REG_QUEUE_LEN);
	if (!queue_len || queue_len > QUEUE_MAX)
		return -1;
	outl(disk + REG_QUEUE_PAGE, (uint32_t)queue / 4096);
	outb(disk + REG_STATUS, STATUS_OK);
	return 0;
}

static uint32_t disk_sectors(void)
{
	return inl(disk + REG_CAPACITY);
}

/* Return: 0 when the disk has carried it out */
static int request(uint32_t type, uint32_t sector, void *data, uint32_t len)
{
	struct { uint32_t type, reserved; uint64_t sector; } head = { type, 0, sector };
	struct desc *desc = (struct desc *)queue;
	struct avail *avail = (struct avail *)(desc + queue_len);
	struct used *used = (struct used *)(((uint32_t)&avail->ring[queue_len] + 2 + 4095) & ~4095);
	uint16_t last = used->idx;
	uint8_t status = 0xff;

	desc[0] = (struct desc){ (uint32_t)&head, sizeof(head), DESC_NEXT, len ? 1 : 2 };
	desc[1] = (struct desc){ (uint32_t)data, len,
				 DESC_NEXT | (type == READ ? DESC_WRITE : 0), 2 };
	desc[2] = (struct desc){ (uint32_t)&status, 1, DESC_WRITE, 0 };
	avail->ring[avail->idx % queue_len] = 0;
	__atomic_store_n(&avail->idx, avail->idx + 1, __ATOMIC_SEQ_CST);
	outw(disk + REG_NOTIFY, 0);
	while (__atomic_load_n(&used->idx, __ATOMIC_ACQUIRE) == last)
		asm volatile("pause");
	return __atomic_load_n(&status, __ATOMIC_ACQUIRE);
}

/* Return: whether the block was as it becomes: its number behind spaces */
static int fill(uint32_t n)
{
	int i, same = 1;

	for (i = BLOCK - 1; i >= 0; i--) {
		uint8_t c = n || i == BLOCK - 1 ? '0' + n % 10 : ' ';

		same &= block[i] == c;
		block[i] = c;
		n /= 10;
	}
	return same;
}

static int write_block(uint32_t n)
{
	fill(n);
	return request(WRITE, n * (BLOCK / SECTOR), block, BLOCK) ||
	       request(FLUSH, 0, 0, 0);
}

static int read_block(uint32_t n)
{
	return request(READ, n * (BLOCK / SECTOR), block, BLOCK) || !fill(n);
}

static int discard(void)
{
	struct { uint64_t sector; uint32_t sectors, flags; } range = {
		DISCARD_AT / SECTOR, DISCARD_LEN / SECTOR, 0
	};

	return request(DISCARD, 0, &range, sizeof(range));
}

__attribute__((used, noreturn)) static void run(void)
{
	uint32_t n = 0, i;

	if (disk_start())
		say("failed: no disk\n");
	while (n < BLOCKS && !told_to_end()) {
		if (write_block(++n))
			say_about("failed: write ", n);
		say("wrote ");
		say_number(n);
		say_about(" of ", disk_sectors());
		pause();
	}
	for (i = 1; i <= n; i++)
		if (read_block(i))
			say_about("failed: read ", i);
	if (discard())
		say("failed: discard\n");
	say_about("good ", n);
	outw(PORT_POWER, POWER_OFF);
	for (;;)
		asm volatile("hlt");
}
