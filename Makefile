# SPDX-License-Identifier: GPL-2.0-only
#
#   make                 daemon and tool; the module, too, if the running kernel has
#                        headers
#   make KDIR=DIR        daemon, tool, and the module for the kernel of DIR
#   make demo            set-up, then a demonstration in virtual machines
#   make check           set-up, then all tests but the long ones
#   make check-quick     linters for changed files, unit tests without mutants
#                        and a case of each group: 5 minutes
#   make check-long      all tests, the long ones on a debug kernel, too: hours
#   make bench           the benchmark beside nvme-rdma, in a virtual machine;
#                        FULL=1: all sizes, directions and depths; WALL=1: in two
#                        machines and by the clock; SET=scaling: 1 to 64 disks;
#                        SET=size: exports of 1 to 8 GiB; SET=memory: memory and
#                        time of a connect; CONTINUE=DIR continues an interrupted
#                        benchmark. ROUNDS=N, ONLY=REGEX, EACH=SECONDS (of WALL=1),
#                        and for hardware DEVICE=D ADDRESS=A [PORT=N] with WALL=1:
#                        see tests/perf/run
#   make bench-gate      compares the performance with the reference; part of
#                        'make check'
#   make bench-record    records a new reference; MERGE=1 keeps the lower of the
#                        old and the new ratios to nvme-rdma
#   make fuzz HOURS=N    fuzzes for N hours, goes on where it was, and adds to the
#                        ledger, Documentation/fuzzing.csv
#   make lint            style and static analysis
#   make pictures        the pictures of the guides, and the demonstration as a
#                        recording of a terminal, as SVG in build/pictures
#   make html            guides, pictures and manual pages as a site,
#                        build/html/index.html
#   make dist            the sources of this commit as build/rdmablk-VERSION.tar.xz
#   make install         daemon, tool, man pages, units, udev rule, completion
#                        (PREFIX, DESTDIR)
#   make modules_install the module, for KDIR
#   make help            this list

RUNNING	:= /lib/modules/$(shell uname -r)/build
KDIR	?= $(if $(wildcard $(RUNNING)/Makefile),$(RUNNING))
PREFIX	?= /usr/local
VERSION	= $(shell cat $(CURDIR)/VERSION)

.PHONY: all help modules target tools man pictures html demo check check-quick check-long lint fuzz bench \
	bench-gate bench-record dist install modules_install clean

all: target tools $(if $(KDIR),modules)

help:
	@sed -n '3,/^$$/s/^#  \{0,2\}//p' $(firstword $(MAKEFILE_LIST))

modules:
	$(if $(KDIR),,$(error KDIR is not set and the running kernel has no headers))
	$(MAKE) -C $(KDIR) M=$(CURDIR) modules

target:
	$(MAKE) -C target

tools:
	$(MAKE) -C tools

man:
	$(MAKE) -C Documentation/man

pictures:
	tests/setup
	$(MAKE) -C Documentation pictures recording

html:
	$(MAKE) -C Documentation html

demo:
	tests/setup
	tests/demo

check:
	tests/setup
	tests/run

check-quick:
	tests/setup
	tests/run -q

check-long:
	tests/setup --debug
	tests/run -L
	tests/campaign

lint:
	tests/setup
	tests/lint

fuzz:
	tests/setup
	tests/fuzz/campaign $(HOURS)

# tests/perf/run refuses options that exclude each other.
bench_set = $(or $(SET),$(if $(filter-out 0,$(WALL)),wall),$(if $(filter-out 0,$(FULL)),matrix))
bench_option = $(if $(2),--$(1) '$(2)')

bench:
	tests/setup
	tests/perf/run $(strip $(call bench_option,continue,$(CONTINUE)) \
		$(call bench_option,set,$(bench_set)) \
		$(call bench_option,rounds,$(ROUNDS)) \
		$(call bench_option,only,$(ONLY)) \
		$(call bench_option,seconds,$(EACH)) \
		$(call bench_option,device,$(DEVICE)) \
		$(call bench_option,address,$(ADDRESS)) \
		$(call bench_option,port,$(PORT)))

bench-gate:
	tests/setup
	tests/perf/gate

bench-record:
	tests/setup
	tests/perf/gate --record $(if $(filter-out 0,$(MERGE)),--merge)

install: target tools man
	$(MAKE) -C target install PREFIX=$(PREFIX) DESTDIR=$(DESTDIR)
	$(MAKE) -C tools install PREFIX=$(PREFIX) DESTDIR=$(DESTDIR)
	$(MAKE) -C Documentation/man install PREFIX=$(PREFIX) DESTDIR=$(DESTDIR)

modules_install: modules
	$(MAKE) -C $(KDIR) M=$(CURDIR) modules_install

# The tarball has only committed files; tests/unit/version checks the version's entries.
dist:
	@test -z "$$(git status --porcelain)" || \
		{ echo "make dist: commit first, these differ:"; git status --short; exit 1; } >&2
	tests/unit/version
	mkdir -p build
	git archive --format=tar --prefix=rdmablk-$(VERSION)/ HEAD | \
		xz -T0 >build/rdmablk-$(VERSION).tar.xz
	@echo build/rdmablk-$(VERSION).tar.xz

clean:
	$(if $(KDIR),$(MAKE) -C $(KDIR) M=$(CURDIR) clean)
	$(MAKE) -C target clean
	$(MAKE) -C tools clean
	rm -rf build
