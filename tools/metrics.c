// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Figures for monitoring systems, as OpenMetrics or in the older text format of
 * Prometheus. The two differ in the heads of counters, in units and in the last line. The
 * textfile collector of node_exporter takes only the older one, and takes a file as it is
 * at that moment: so a new file replaces the old one in one step.
 *
 * Labels have few values each: names that the administrator has chosen, and words of ours.
 * The values may still hold any bytes, because a text may come from a peer.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files.h"
#include "metrics.h"
#include "opts.h"
#include "report.h"
#include "util.h"

/*
 * Buckets of a histogram: one for each power of two from 1024 ns to 2^35 ns, half a minute.
 * The kernel's buckets are finer: number 4 begins at 1024 ns, and each fourth one after that
 * at twice the duration.
 */
#define FIRST_BUCKET	4U
#define LAST_BUCKET	104U
#define BUCKET_STEP	4U

/* Return: bytes of the UTF-8 sequence that @text begins with; 0: it begins with none */
static size_t utf8_len(const unsigned char *text)
{
	static const unsigned char second_min[] = { [0xe0 - 0xe0] = 0xa0, [0xf0 - 0xe0] = 0x90 };
	static const unsigned char second_max[] = { [0xed - 0xe0] = 0x9f, [0xf4 - 0xe0] = 0x8f };
	size_t len = *text < 0x80 ? 1 : *text >= 0xc2 && *text < 0xe0 ? 2 :
		     *text >= 0xe0 && *text < 0xf0 ? 3 : *text >= 0xf0 && *text < 0xf5 ? 4 : 0;
	size_t lead = *text >= 0xe0 ? *text - 0xe0 : 0, i;

	for (i = 1; i < len; i++)
		if ((text[i] & 0xc0) != 0x80)
			return 0;
	if (len > 2 && lead < sizeof(second_min) && text[1] < second_min[lead])
		return 0;
	if (len > 2 && lead < sizeof(second_max) && second_max[lead] &&
	    text[1] > second_max[lead])
		return 0;
	return len;
}

static void put_value(FILE *out, const char *value)
{
	const unsigned char *text = (const unsigned char *)value;
	size_t len;

	for (; *text; text += len ?: 1) {
		len = utf8_len(text);
		if (*text == '\\' || *text == '"')
			fprintf(out, "\\%c", *text);
		else if (*text == '\n')
			fputs("\\n", out);
		else if (!len || *text < ' ' || *text == 0x7f)
			fputc('?', out);
		else
			fwrite(text, 1, len, out);
	}
}

/* @le: one more label, for histograms; or NULL */
static void put_labels(FILE *out, const struct metrics_label *labels, const char *le)
{
	char before = '{';

	for (; labels && labels->name; labels++, before = ',') {
		fprintf(out, "%c%s=\"", before, labels->name);
		put_value(out, labels->value);
		fputc('"', out);
	}
	if (le)
		fprintf(out, "%cle=\"%s\"", before, le);
	if (le || before == ',')
		fputc('}', out);
}

static const char *suffix_of(const struct metrics *m)
{
	return m->family->type == METRICS_COUNTER ? "_total" : "";
}

/* The head comes with the first figure: a family without figures is not mentioned. */
static void put_head(struct metrics *m)
{
	static const char *const types[] = {
		[METRICS_GAUGE] = "gauge", [METRICS_COUNTER] = "counter",
		[METRICS_HISTOGRAM] = "histogram",
	};
	const struct metrics_family *f = m->family;
	const char *suffix = m->format == METRICS_PROMETHEUS ? suffix_of(m) : "";

	if (m->headed)
		return;
	m->headed = true;
	fprintf(m->out, "# TYPE %s%s %s\n", f->name, suffix, types[f->type]);
	if (f->unit && m->format == METRICS_OPENMETRICS)
		fprintf(m->out, "# UNIT %s %s\n", f->name, f->unit);
	fprintf(m->out, "# HELP %s%s %s.\n", f->name, suffix, f->help);
}

static void put_name(struct metrics *m, const char *suffix,
		     const struct metrics_label *labels, const char *le)
{
	put_head(m);
	fprintf(m->out, "%s%s", m->family->name, suffix);
	put_labels(m->out, labels, le);
}

/* Neither the locale nor a floating point number may come between. */
static void format_ns(char *text, size_t size, __u64 ns)
{
	snprintf(text, size, "%llu.%09llu", ns / 1000000000, ns % 1000000000);
}

/**
 * metrics_family() - begin another family of figures
 * @m: text
 * @family: the family; each comes once in a text
 */
void metrics_family(struct metrics *m, const struct metrics_family *family)
{
	m->family = family;
	m->headed = false;
}

/**
 * metrics_number() - a figure
 * @m: text, in the family of the figure
 * @labels: of the figure; NULL: none
 * @number: the figure
 */
void metrics_number(struct metrics *m, const struct metrics_label *labels, __u64 number)
{
	put_name(m, suffix_of(m), labels, NULL);
	fprintf(m->out, " %llu\n", number);
}

/**
 * metrics_ns() - a figure in seconds
 * @m: text, in the family of the figure
 * @labels: of the figure; NULL: none
 * @ns: the figure, nanoseconds
 */
void metrics_ns(struct metrics *m, const struct metrics_label *labels, __u64 ns)
{
	char text[32];

	format_ns(text, sizeof(text), ns);
	put_name(m, suffix_of(m), labels, NULL);
	fprintf(m->out, " %s\n", text);
}

/**
 * metrics_latency() - a histogram, in seconds
 * @m: text, in the family of the histogram
 * @labels: of the histogram; NULL: none
 * @h: the histogram
 *
 * A bucket has the durations below its "le", which itself belongs to the next one.
 */
void metrics_latency(struct metrics *m, const struct metrics_label *labels,
		     const struct rdmablk_latency_histogram *h)
{
	__u64 count = 0;
	unsigned int i = 0, end;
	char text[32];

	for (end = FIRST_BUCKET; end <= LAST_BUCKET; end += BUCKET_STEP) {
		for (; i < end; i++)
			count += h->count[i];
		format_ns(text, sizeof(text), rdmablk_latency_begin(end));
		put_name(m, "_bucket", labels, text);
		fprintf(m->out, " %llu\n", count);
	}
	put_name(m, "_bucket", labels, "+Inf");
	fprintf(m->out, " %llu\n", latency_requests(h));
	format_ns(text, sizeof(text), h->sum);
	put_name(m, "_sum", labels, NULL);
	fprintf(m->out, " %s\n", text);
	put_name(m, "_count", labels, NULL);
	fprintf(m->out, " %llu\n", latency_requests(h));
}

static bool is_format(const struct metrics_args *args, const char *name)
{
	return args->format && !strcmp(args->format, name);
}

/**
 * metrics_check() - check the options
 * @what: the command, for the complaint
 * @args: the options
 *
 * Returns 0 or the exit status after a complaint.
 */
int metrics_check(const char *what, const struct metrics_args *args)
{
	const struct opts_origin origin = { what, "--" };

	if (args->file && (!*args->file || args->file[strlen(args->file) - 1] == '/'))
		return opts_refuse(&origin, "output", "'%s' is not the name of a file",
				   args->file);
	if (args->format && !is_format(args, "openmetrics") && !is_format(args, "prometheus"))
		return opts_refuse(&origin, "format",
				   "'%s' is neither openmetrics nor prometheus",
				   args->format);
	return 0;
}

/*
 * Others read the file, whatever the umask is. The temporary one must not end in ".prom":
 * the textfile collector would read it, too.
 *
 * Return: 0 or a negative errno
 */
static int replace(const char *file, const char *text, size_t len)
{
	char *temporary;
	int fd, ret;

	if (asprintf(&temporary, "%s.XXXXXX", file) < 0)
		return -ENOMEM;
	fd = mkostemp(temporary, O_CLOEXEC);
	if (fd < 0) {
		ret = -errno;
		free(temporary);
		return ret;
	}
	ret = files_write(fd, text, len);
	if (!ret && fchmod(fd, 0644))
		ret = -errno;
	if (close(fd) && !ret)
		ret = -errno;
	if (!ret && rename(temporary, file))
		ret = -errno;
	if (ret)
		unlink(temporary);
	free(temporary);
	return ret;
}

/* Return: 0 or a negative errno; then there is no text */
static int make_text(const struct metrics_args *args,
		     void (*fill)(struct metrics *m, void *context), void *context,
		     char **text, size_t *len)
{
	struct metrics m = {
		.out = open_memstream(text, len),
		.format = is_format(args, "prometheus") || (args->file && !args->format) ?
			METRICS_PROMETHEUS : METRICS_OPENMETRICS,
	};
	bool failed;

	if (!m.out)
		return -errno;
	fill(&m, context);
	if (m.format == METRICS_OPENMETRICS)
		fputs("# EOF\n", m.out);
	failed = ferror(m.out);
	if (!fclose(m.out) && !failed)
		return 0;
	free(*text);
	return -ENOMEM;
}

/**
 * metrics_print() - write the text
 * @what: the command, for complaints
 * @args: options, checked
 * @fill: adds the figures
 * @context: for @fill
 *
 * Returns the exit status, after a complaint if that is not STATUS_DONE. An error leaves
 * a file as it was.
 */
int metrics_print(const char *what, const struct metrics_args *args,
		  void (*fill)(struct metrics *m, void *context), void *context)
{
	char *text = NULL;
	size_t len;
	int ret = make_text(args, fill, context, &text, &len);

	if (ret)
		return report_failure(-ret, what, "%s", strerror(-ret));
	if (args->file)
		ret = replace(args->file, text, len);
	else
		fwrite(text, 1, len, stdout);
	free(text);
	if (ret)
		return report_failure(-ret, what, "%s: %s", args->file, strerror(-ret));
	return STATUS_DONE;
}
