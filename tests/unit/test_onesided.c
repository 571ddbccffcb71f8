// SPDX-License-Identifier: GPL-2.0-only
/*
 * Proves that kernel/onesided.c makes work requests of all bytes of a request and of no others,
 * on devices without DMA, with DMA, and behind an IOMMU that merges what it maps. Each request
 * has one mapping, which is unmapped as it was mapped. A work request has as many elements as
 * it takes. A request of many segments uses memory of the reserve, and returns it.
 */
#include <linux/kernel.h>

#include "request_fakes.h"
#include "unit.h"

#include "../../kernel/request.h"

/* The block layer, the device and the queue pair, as far as onesided.c knows them */
#define RDMABLK_COMPAT_H	/* what it has is here */
#define CONFIG_PREEMPT_RT	0
#define IS_ENABLED(CONFIG_)	(CONFIG_)
#define SECTOR_SHIFT		9
#define BLK_STS_RESOURCE	9
#define READ			0
#define WRITE			1
#define min(a, b)		min_t(typeof(a), a, b)
#define WARN_ON_ONCE(x)		({ bool w_ = (x); warnings += w_; w_; })

#define SEGMENTS	64U
#define MAPPINGS	256

struct page {
	u64 address;
};

struct bio_vec {
	struct page *bv_page;
	unsigned int bv_len;
	unsigned int bv_offset;
};

struct request_queue {
	unsigned int max_segments;
};

struct request {
	struct request_queue *q;
	u64 sector;
	unsigned int bytes;
	unsigned int nr_segments;	/* as the block layer counts them */
	unsigned int nr_bvecs;
	int dir;
	struct page page[SEGMENTS];
	struct bio_vec bvec[SEGMENTS];
	struct rdmablk_request pdu;
};

struct rq_list {
	struct request *head;
};

static enum { VIRTUAL, DIRECT, MERGING } kind;
static bool no_mapping;
static unsigned int warnings, mappings;
static struct {
	const void *table;		/* NULL: a mapping of a page */
	u64 address, memory;
	unsigned int nr, bytes;
	int dir;
} mapped[MAPPINGS];
/* Where addresses of the device point to */
static struct {
	u64 address, memory;
	unsigned int bytes;
} window[4096];
static unsigned int nr_windows;
static u64 next_address = 1ULL << 40;

static u64 blk_rq_pos(struct request *rq)
{
	return rq->sector;
}

static unsigned int blk_rq_bytes(struct request *rq)
{
	return rq->bytes;
}

static unsigned int blk_rq_nr_phys_segments(struct request *rq)
{
	return rq->nr_segments;
}

static struct bio_vec req_bvec(struct request *rq)
{
	return rq->bvec[0];
}

static int rq_data_dir(struct request *rq)
{
	return rq->dir;
}

static unsigned int queue_max_segments(struct request_queue *q)
{
	return q->max_segments;
}

static struct request *rq_list_pop(struct rq_list *list)
{
	struct request *rq = list->head;

	list->head = NULL;
	return rq;
}

static bool rq_list_empty(const struct rq_list *list)
{
	return !list->head;
}

static void blk_mq_complete_request(struct request *rq)
{
	fail_msg("request %p ends", (void *)rq);
}

static void preempt_disable(void)
{
}

static void preempt_enable(void)
{
}

/* Adjacent segments of several bios are one entry, as the block layer counts them. */
static unsigned int rdmablk_compat_map_sg(struct request *rq, struct scatterlist *sg)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < rq->nr_bvecs; i++) {
		struct bio_vec *bv = &rq->bvec[i];

		if (n && sg[n - 1].page->address + sg[n - 1].offset + sg[n - 1].length ==
			 bv->bv_page->address + bv->bv_offset) {
			sg[n - 1].length += bv->bv_len;
			continue;
		}
		sg[n].page = bv->bv_page;
		sg[n].offset = bv->bv_offset;
		sg[n++].length = bv->bv_len;
	}
	return n;
}

static bool ib_uses_virt_dma(struct ib_device *dev)
{
	(void)dev;
	return kind == VIRTUAL;
}

static u64 map_window(u64 memory, unsigned int bytes)
{
	u64 address = next_address;

	assert_in_range(nr_windows, 0, ARRAY_SIZE(window) - 1);
	window[nr_windows].address = address;
	window[nr_windows].memory = memory;
	window[nr_windows++].bytes = bytes;
	next_address += bytes;
	return address;
}

static void map_note(const void *table, unsigned int nr, u64 address, unsigned int bytes,
		     int dir)
{
	unsigned int i = 0;

	if (kind == VIRTUAL)
		return;
	while (mapped[i].bytes)
		assert_in_range(++i, 1, MAPPINGS - 1);
	mapped[i].table = table;
	mapped[i].nr = nr;
	mapped[i].address = address;
	mapped[i].bytes = bytes;
	mapped[i].dir = dir;
	mappings++;
}

static void map_forget(const void *table, unsigned int nr, u64 address, unsigned int bytes,
		       int dir)
{
	if (kind == VIRTUAL)
		return;
	for (unsigned int i = 0; i < MAPPINGS; i++) {
		if (!mapped[i].bytes || mapped[i].table != table || mapped[i].nr != nr ||
		    mapped[i].dir != dir || mapped[i].address != address)
			continue;
		assert_true(table || mapped[i].bytes == bytes);
		mapped[i].bytes = 0;
		mappings--;
		return;
	}
	fail_msg("what is unmapped was not mapped");
}

static u64 ib_dma_map_page(struct ib_device *dev, struct page *page, unsigned int offset,
			   unsigned int len, enum dma_data_direction dir)
{
	u64 address;

	(void)dev;
	if (no_mapping)
		return 0;
	address = map_window(page->address + offset, len);
	map_note(NULL, 1, address, len, dir);
	return address;
}

static bool ib_dma_mapping_error(struct ib_device *dev, u64 address)
{
	(void)dev;
	return !address;
}

static void ib_dma_unmap_page(struct ib_device *dev, u64 address, unsigned int len,
			      enum dma_data_direction dir)
{
	(void)dev;
	map_forget(NULL, 1, address, len, dir);
}

static int ib_dma_map_sg(struct ib_device *dev, struct scatterlist *sg, unsigned int nr,
			 enum dma_data_direction dir)
{
	unsigned int bytes = 0;
	int n = 0;

	(void)dev;
	if (no_mapping)
		return 0;
	for (unsigned int i = 0; i < nr; i++) {
		u64 address = map_window(sg[i].page->address + sg[i].offset, sg[i].length);

		bytes += sg[i].length;
		if (kind == MERGING && n && unit_random() % 8) {
			sg[n - 1].dma_length += sg[i].length;
			continue;
		}
		next_address += kind == MERGING ? 0 : 4096;
		sg[n].dma_address = address;
		sg[n++].dma_length = sg[i].length;
	}
	map_note(sg, nr, sg[0].dma_address, bytes, dir);
	return n;
}

static void ib_dma_unmap_sg(struct ib_device *dev, struct scatterlist *sg, unsigned int nr,
			    enum dma_data_direction dir)
{
	(void)dev;
	map_forget(sg, nr, sg[0].dma_address, 0, dir);
}

void rdmablk_cmdq_add(struct rdmablk_cmd_tag *cmd)
{
	fail_msg("command %p", (void *)cmd);
}

void rdmablk_queue_post(struct rdmablk_queue *q)
{
	q->nr_batch = 0;
}

#include "../../kernel/onesided.c"

static struct rdmablk_hwq hwq;
static struct rdmablk_wire_region region = { .iova = 0x10000, .rkey = 77 };
static struct rdmablk_path path;
static struct request_queue queue;
static struct request request[RDMABLK_RESERVE + 1];

static int setup(void **state)
{
	(void)state;
	memset(&path, 0, sizeof(path));
	memset(&hwq, 0, sizeof(hwq));
	memset(request, 0, sizeof(request));
	memset(mapped, 0, sizeof(mapped));
	nr_windows = 0;
	no_mapping = false;
	warnings = 0;
	mappings = 0;
	path.sge_per_wr = 16;
	path.max_segment = 1 << 20;
	path.lkey = 5;
	path.size = 1 << 30;
	path.region_shift = 63;
	path.region_mask = ~0ULL;
	path.region = &region;
	queue.max_segments = SEGMENTS;
	hwq.reserve.segments = calloc(RDMABLK_RESERVE, sizeof(*hwq.reserve.segments));
	assert_non_null(hwq.reserve.segments);
	for (int i = 0; i < RDMABLK_RESERVE; i++)
		hwq.reserve.segments[i].reserve = &hwq.reserve;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	assert_int_equal(hwq.reserve.used, 0);
	assert_int_equal(mappings, 0);
	assert_int_equal(warnings, 0);
	free(hwq.reserve.segments);
	return 0;
}

/* A request of @n segments; with @adjacent some lie side by side in memory. */
static struct request *make(struct request *rq, unsigned int n, bool adjacent)
{
	u64 address = 1ULL << 32;

	rq->q = &queue;
	rq->sector = unit_random() % 1000;
	rq->dir = unit_random() & 1;
	rq->nr_bvecs = n;
	rq->nr_segments = 0;
	rq->bytes = 0;
	for (unsigned int i = 0; i < n; i++) {
		bool next = i && adjacent && unit_random() & 1;

		if (!next)
			address += 1 << 20;
		rq->nr_segments += !next;
		rq->page[i].address = address;
		rq->bvec[i].bv_page = &rq->page[i];
		rq->bvec[i].bv_offset = next ? 0 : 512 * (unit_random() % 8);
		rq->bvec[i].bv_len = 512 * (1 + (unsigned int)(unit_random() % 8));
		address += rq->bvec[i].bv_offset + rq->bvec[i].bv_len;
		rq->bytes += rq->bvec[i].bv_len;
	}
	memset(&rq->pdu.attempt, 0, sizeof(rq->pdu.attempt));
	rq->pdu.queue = &hwq.write;
	return rq;
}

/* The byte of memory that the device reaches at @address */
static u64 memory_at(u64 address)
{
	for (unsigned int i = nr_windows; i--;) {
		if (address - window[i].address < window[i].bytes)
			return window[i].memory + (address - window[i].address);
	}
	fail_msg("an address that is not mapped");
	return 0;
}

/* The READ fetches the last bytes to memory that is not used, and completes the request. */
static void check_tail(struct rdmablk_request *req, const struct ib_rdma_wr *wr, u64 end)
{
	assert_ptr_equal(wr[-1].wr.next, &wr->wr);
	assert_null(wr->wr.next);
	assert_int_equal(wr->wr.opcode, IB_WR_RDMA_READ);
	assert_int_equal(wr->wr.send_flags, IB_SEND_SIGNALED);
	assert_ptr_equal(wr->wr.wr_cqe, &req->cqe);
	assert_int_equal(wr->remote_addr + RDMABLK_TAIL_BYTES, end);
	assert_int_equal(wr->rkey, region.rkey);
	assert_int_equal(wr->wr.num_sge, 1);
	assert_ptr_equal(wr->wr.sg_list, &hwq.write.tail_sge);
}

/* What is posted moves the bytes of @rq, in their order, to one piece of the export. */
static void check_chain(struct request *rq)
{
	struct rdmablk_request *req = &rq->pdu;
	u64 remote = region.iova + (rq->sector << SECTOR_SHIFT);
	unsigned int bv = 0, at = 0, wrs;

	wrs = hwq.write.nr_batch - hwq.write.tail;
	assert_int_equal(wrs, req->nr_wr);
	assert_int_equal(wrs, DIV_ROUND_UP((unsigned int)req->nr_sge, path.sge_per_wr));
	for (unsigned int i = 0; i < wrs; i++) {
		struct ib_rdma_wr *wr = &hwq.write.batch[i];

		assert_int_equal(wr->remote_addr, remote);
		assert_int_equal(wr->rkey, region.rkey);
		assert_int_equal(wr->wr.opcode, rq->dir == WRITE ? IB_WR_RDMA_WRITE :
								   IB_WR_RDMA_READ);
		assert_int_equal(wr->wr.send_flags, i == wrs - 1 && !hwq.write.tail ?
						    IB_SEND_SIGNALED : 0);
		assert_ptr_equal(wr->wr.wr_cqe, &req->cqe);
		assert_in_range(wr->wr.num_sge, 1, path.sge_per_wr);
		for (int s = 0; s < wr->wr.num_sge; s++) {
			const struct ib_sge *sge = &wr->wr.sg_list[s];

			assert_int_equal(sge->lkey, path.lkey);
			remote += sge->length;
			for (u32 done = 0; done < sge->length; done += 512) {
				assert_in_range(bv, 0, rq->nr_bvecs - 1);
				assert_int_equal(memory_at(sge->addr + done),
						 rq->bvec[bv].bv_page->address +
						 rq->bvec[bv].bv_offset + at);
				at += 512;
				if (at == rq->bvec[bv].bv_len) {
					at = 0;
					bv++;
				}
			}
		}
	}
	assert_int_equal(bv, rq->nr_bvecs);
	assert_int_equal(remote, region.iova + (rq->sector << SECTOR_SHIFT) + rq->bytes);
	if (hwq.write.tail)
		check_tail(req, &hwq.write.batch[wrs], remote);
}

static void run(struct request *rq)
{
	unsigned int was = mappings;

	assert_int_equal(rdmablk_onesided_map(&path, &hwq, rq), BLK_STS_OK);
	assert_int_equal(mappings - was, kind != VIRTUAL);
	rdmablk_onesided_send(&path, rq, false);
	check_chain(rq);
	hwq.write.nr_batch = 0;
	rdmablk_onesided_unmap(&path, rq);
	assert_int_equal(mappings, was);
	/* A request that is held after its completion is unmapped a second time. */
	rdmablk_onesided_unmap(&path, rq);
	assert_null(rq->pdu.segments);
	nr_windows = 0;
}

static void run_shapes(void)
{
	for (unsigned int n = 1; n <= SEGMENTS; n++) {
		for (int i = 0; i < 20; i++)
			run(make(request, n, i & 1));
	}
}

static void test_software_device(void **state)
{
	(void)state;
	kind = VIRTUAL;
	run_shapes();
}

static void test_device_with_dma(void **state)
{
	(void)state;
	kind = DIRECT;
	run_shapes();
}

static void test_iommu_that_merges(void **state)
{
	bool one = false;

	(void)state;
	kind = MERGING;
	run_shapes();
	/* Some requests have become one element, and then have one work request. */
	for (int i = 0; i < 100; i++) {
		struct request *rq = make(request, 9, false);

		assert_int_equal(rdmablk_onesided_map(&path, &hwq, rq), BLK_STS_OK);
		one |= rq->pdu.nr_sge == 1;
		assert_true(rq->pdu.nr_sge > 1 || rq->pdu.nr_wr == 1);
		rdmablk_onesided_unmap(&path, rq);
		nr_windows = 0;
	}
	assert_true(one);
}

static void test_a_read_behind_each_write(void **state)
{
	(void)state;
	hwq.write.tail = true;
	for (kind = VIRTUAL; kind <= MERGING; kind++) {
		for (unsigned int n = 1; n <= SEGMENTS; n++) {
			struct request *rq = make(request, n, false);

			rq->dir = WRITE;
			rq->pdu.more = true;
			run(rq);
		}
	}
	hwq.write.tail = false;
}

static void test_small_work_requests(void **state)
{
	(void)state;
	for (path.sge_per_wr = 1; path.sge_per_wr <= 16; path.sge_per_wr++) {
		queue.max_segments = 4 * path.sge_per_wr;
		for (kind = VIRTUAL; kind <= MERGING; kind++) {
			for (unsigned int n = 1; n <= queue.max_segments; n++)
				run(make(request, n, false));
		}
	}
	kind = DIRECT;
}

/* The block layer may have counted more segments than there are. */
static void test_one_after_all(void **state)
{
	(void)state;
	for (kind = VIRTUAL; kind <= MERGING; kind++) {
		struct request *rq = make(request, RDMABLK_FEW_SEGMENTS + 1, false);

		for (unsigned int i = 1; i < rq->nr_bvecs; i++) {
			rq->bvec[i].bv_offset = 0;
			rq->page[i].address = rq->page[i - 1].address +
					      rq->bvec[i - 1].bv_offset +
					      rq->bvec[i - 1].bv_len;
		}
		assert_int_equal(rdmablk_onesided_map(&path, &hwq, rq), BLK_STS_OK);
		assert_int_equal(rq->pdu.nr_sge, 1);
		assert_int_equal(hwq.reserve.used, 0);
		rdmablk_onesided_unmap(&path, rq);
		run(rq);
	}
	kind = DIRECT;
}

/* A request waits for memory of the reserve only if it needs it. */
static void test_reserve(void **state)
{
	const unsigned int n = ARRAY_SIZE(request);
	struct request *last = &request[n - 1];

	(void)state;
	kind = DIRECT;
	for (unsigned int round = 0; round < 3; round++) {
		for (unsigned int i = 0; i < n - 1; i++) {
			make(&request[i], RDMABLK_FEW_SEGMENTS + 1, false);
			assert_int_equal(rdmablk_onesided_map(&path, &hwq, &request[i]),
					 BLK_STS_OK);
			for (unsigned int j = 0; j < i; j++)
				assert_ptr_not_equal(request[i].pdu.segments,
						     request[j].pdu.segments);
		}
		make(last, RDMABLK_FEW_SEGMENTS + 1, false);
		assert_int_equal(rdmablk_onesided_map(&path, &hwq, last), BLK_STS_RESOURCE);
		rdmablk_onesided_unmap(&path, last);
		run(make(last, RDMABLK_FEW_SEGMENTS, false));
		rdmablk_onesided_unmap(&path, &request[unit_random() % (n - 1)]);
		run(make(last, SEGMENTS, false));
		for (unsigned int i = 0; i < n; i++)
			rdmablk_onesided_unmap(&path, &request[i]);
		assert_int_equal(hwq.reserve.used, 0);
		nr_windows = 0;
	}
}

static void test_no_mapping(void **state)
{
	(void)state;
	for (kind = VIRTUAL; kind <= MERGING; kind++) {
		for (unsigned int n = 1; n <= SEGMENTS; n++) {
			no_mapping = true;
			make(request, n, false);
			assert_int_equal(rdmablk_onesided_map(&path, &hwq, request),
					 BLK_STS_RESOURCE);
			rdmablk_onesided_unmap(&path, request);
			assert_int_equal(hwq.reserve.used, 0);
			no_mapping = false;
			run(request);
		}
	}
	kind = DIRECT;
}

static void test_too_many_segments(void **state)
{
	(void)state;
	kind = DIRECT;
	queue.max_segments = SEGMENTS - 1;
	assert_int_equal(rdmablk_onesided_map(&path, &hwq, make(request, SEGMENTS, false)),
			 BLK_STS_IOERR);
	assert_int_equal(warnings, 1);
	warnings = 0;
}

/* No request of this queue needs the reserve, so there is none. */
static void test_few_segments(void **state)
{
	(void)state;
	kind = DIRECT;
	free(hwq.reserve.segments);
	hwq.reserve.segments = NULL;
	run(make(request, RDMABLK_FEW_SEGMENTS, false));
}

/* Maps 4 KiB at @pos. */
static blk_status_t map_at(u64 pos, struct request *rq)
{
	make(rq, 1, false);
	rq->sector = pos >> SECTOR_SHIFT;
	rq->bvec[0].bv_len = 4096;
	rq->bytes = 4096;
	return rdmablk_onesided_map(&path, &hwq, rq);
}

/* Each byte of a request is inside the region whose key it is sent with. */
static void test_regions(void **state)
{
	static struct rdmablk_wire_region regions[] = {
		{ .iova = 1ULL << 40, .rkey = 1 }, { .iova = 7ULL << 40, .rkey = 2 },
		{ .iova = 3ULL << 40, .rkey = 3 },
	};
	const u64 bytes = 1 << 20;
	static struct request rq;

	(void)state;
	kind = DIRECT;
	path.region = regions;
	path.region_shift = 20;
	path.region_mask = bytes - 1;
	path.size = 2 * bytes + 8192;
	for (u64 pos = 0; pos < path.size + 16384; pos += 512) {
		bool fits = pos + 4096 <= path.size &&
			    pos / bytes == (pos + 4095) / bytes;

		assert_int_equal(map_at(pos, &rq), fits ? BLK_STS_OK : BLK_STS_IOERR);
		if (!fits)
			continue;
		assert_int_equal(rq.pdu.remote, regions[pos / bytes].iova + pos % bytes);
		assert_int_equal(rq.pdu.rkey, regions[pos / bytes].rkey);
		rdmablk_onesided_unmap(&path, &rq);
		nr_windows = 0;
	}
	/* A request whose end does not fit into an address */
	assert_int_equal(map_at(-4096ULL, &rq), BLK_STS_IOERR);
	assert_int_equal(mappings, 0);
}

#define TEST(name)	cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_software_device),
		TEST(test_device_with_dma),
		TEST(test_iommu_that_merges),
		TEST(test_a_read_behind_each_write),
		TEST(test_small_work_requests),
		TEST(test_one_after_all),
		TEST(test_reserve),
		TEST(test_no_mapping),
		TEST(test_too_many_segments),
		TEST(test_few_segments),
		TEST(test_regions),
	};

	return cmocka_run_group_tests_name("onesided", tests, NULL, NULL);
}
