# Larder: build, run, test. On Debian 12 with Swift 6.3 and make, `make run` and `make test` do everything.

SHELL := /bin/bash
CONFIGURATION ?= release
BINARY := .build/$(CONFIGURATION)/larder
SUDO := $(shell [ "$$(id -u)" = 0 ] || echo sudo)

# Debian packages to build with: what Swift's own programs are linked with and link with, and the libraries.
SWIFT_PACKAGES := gcc libstdc++-12-dev libcurl4 libncurses6 libsqlite3-0 libxml2 git
BUILD_PACKAGES := $(SWIFT_PACKAGES) libevent-dev liblmdb-dev libxxhash-dev libyaml-dev zlib1g-dev libssl-dev pkg-config
# Programs that the tests run, each with the Debian package that has it.
TEST_PROGRAMS := nginx:nginx-light curl:curl wget:wget aria2c:aria2 ffmpeg:ffmpeg ffprobe:ffmpeg python3:python3 \
  pip3:python3-pip apt-get:apt dpkg-deb:dpkg sha256sum:coreutils mount:mount apache2:apache2 haproxy:haproxy

# $(call install,PACKAGES): installs them with apt-get.
install = echo "installing:$(1)"; $(SUDO) apt-get update -q && \
  $(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $(1)

.PHONY: all run build test unit-test fuzz fuzz-build fuzz-long program-test full-test lint test-address test-thread unit-test-sanitized soak settings-table clean \
  bench install build-packages test-packages

all: build

# What is installed already is not asked of apt at all.
build-packages:
	@missing=; for package in $(BUILD_PACKAGES); do \
	  dpkg-query -W -f '$${Status}' $$package 2>/dev/null | grep -q 'ok installed' || missing="$$missing $$package"; \
	done; \
	if [ -n "$$missing" ]; then $(call install,$$missing); fi

test-packages:
	@missing=; for pair in $(TEST_PROGRAMS); do \
	  PATH="$$PATH:/usr/sbin:/sbin" command -v $${pair%%:*} >/dev/null || missing="$$missing $${pair##*:}"; \
	done; \
	if [ -n "$$missing" ]; then $(call install,$$missing); fi

build: build-packages
	swift build -c $(CONFIGURATION) --product larder

# The server itself says where it listens, where the cache is and how to stop it.
run: build
	@exec $(BINARY) serve $(ARGUMENTS)

# Puts the program, its settings (where there are none yet) and its systemd unit in place. Swift's library is linked into a
# release build (Package.swift), so the toolchain need not stay.
PREFIX ?= /usr/local
install: build-packages
	swift build -c release --product larder
	$(SUDO) install -D .build/release/larder $(DESTDIR)$(PREFIX)/bin/larder
	[ -e $(DESTDIR)/etc/larder.yaml ] || $(SUDO) install -D -m 644 conf/larder.yaml $(DESTDIR)/etc/larder.yaml
	sed 's#/usr/local#$(PREFIX)#' conf/larder.service > .build/larder.service
	$(SUDO) install -D -m 644 .build/larder.service $(DESTDIR)/etc/systemd/system/larder.service

# The tests are a debug build: it is quick, and assertions hold. The program under test is the release build: it is
# what users run, is built for `make run` anyway, and the tests that move gigabytes need its speed.
test: test-packages unit-test fuzz program-test

unit-test: build-packages
	Tests/run.sh --skip ProgramTests

program-test: build
	LARDER_BINARY=$(CURDIR)/$(BINARY) Tests/run.sh ProgramTests

# The same with the sizes and the numbers of the issues: 1 GiB objects, fifty kills.
full-test: test-packages build
	LARDER_TEST_SCALE=1 LARDER_TEST_KILLS=50 LARDER_BINARY=$(CURDIR)/$(BINARY) swift test --filter ProgramTests

# The fuzzers of Tests/Fuzz are a build of their own, with libFuzzer linked in.
FUZZ_BUILD := .build/fuzz
FUZZ_CONFIGURATION := release
fuzz-build: build-packages
	LARDER_FUZZ=1 swift build -c $(FUZZ_CONFIGURATION) --product Fuzz --scratch-path $(FUZZ_BUILD) \
	  -Xswiftc -sanitize=fuzzer,address -Xswiftc -enable-testing

# Each for a few seconds, in a debug build: it is quick to make.
fuzz: FUZZ_CONFIGURATION := debug
fuzz: fuzz-build
	Tests/Fuzz/run.sh $(FUZZ_BUILD)/debug/Fuzz $(FUZZ_BUILD) seconds 4

# Each for MINUTES of processor time.
MINUTES ?= 10
fuzz-long: fuzz-build
	Tests/Fuzz/run.sh $(FUZZ_BUILD)/$(FUZZ_CONFIGURATION)/Fuzz $(FUZZ_BUILD) minutes $(MINUTES)

lint: build-packages
	swift format lint --strict --recursive Sources Tests Package.swift

# The program built with a sanitizer, under the faults that matter most. The tests themselves are the ordinary ones; they
# fail when the program reports anything. Leaks are not looked for: the Swift run-time keeps what it made to the end.
FAULT_TESTS := ProgramTests\.(Fault|FaultMatrix|FaultMatrixCut|LyingOrigin|OriginChange|ClientLeaves|CutChunked|Crash|Kill)Tests
sanitized-test = LARDER_TEST_PATIENCE=4 LARDER_TEST_KILLS=5 LARDER_BINARY=$(CURDIR)/.build/$(1)/debug/larder \
  Tests/run.sh '$(FAULT_TESTS)'

test-address: test-packages build-packages
	swift build --product larder --sanitize=address --scratch-path .build/address
	ASAN_OPTIONS=detect_leaks=0:exitcode=66 $(call sanitized-test,address)

test-thread: test-packages build-packages
	swift build --product larder --sanitize=thread -Xswiftc -DTHREAD_SANITIZER --scratch-path .build/thread
	TSAN_OPTIONS=halt_on_error=1:exitcode=66 $(call sanitized-test,thread)

# The unit tests under both sanitizers: two more builds of everything, and so not a part of `make test`.
unit-test-sanitized: build-packages
	LARDER_TEST_PATIENCE=4 ASAN_OPTIONS=detect_leaks=0 \
	  swift test --sanitize=address --scratch-path .build/address --skip ProgramTests
	LARDER_TEST_PATIENCE=4 TSAN_OPTIONS=halt_on_error=1 \
	  swift test --sanitize=thread -Xswiftc -DTHREAD_SANITIZER --scratch-path .build/thread --skip ProgramTests

# Fifty kills under load, and the tests of faults over and over for ROUNDS rounds.
ROUNDS ?= 10
soak: test-packages build
	set -e; for round in $$(seq $(ROUNDS)); do echo "round $$round of $(ROUNDS)"; \
	  LARDER_TEST_KILLS=50 LARDER_TEST_SCALE=1 LARDER_BINARY=$(CURDIR)/$(BINARY) \
	    swift test --filter '$(FAULT_TESTS)|ProgramTests\.(Range|Sharing)Tests'; done

# Writes the README's table of settings from conf/larder.yaml; a test checks that the two agree.
settings-table:
	@awk ' \
	  FNR == NR && /^ *#/ { note = $$0; sub(/^ *# */, "", note); next } \
	  FNR == NR && /^$$/ { note = ""; next } \
	  FNR == NR { if (!/^ /) section = ""; name = $$0; sub(/:.*/, "", name); sub(/^ +/, "", name); \
	    value = $$0; sub(/^[^:]*:/, "", value); \
	    if (value ~ /^ *$$/) { section = name "."; next } rows = rows sprintf("| `%s` | `%s` | %s |\n", \
	      section name, substr(value, 2), note); next } \
	  /<!-- settings:/ { print; printf "| setting | default | what it does |\n|---|---|---|\n%s", rows; skip = 1; next } \
	  /<!-- end of settings/ { skip = 0 } \
	  !skip { print }' conf/larder.yaml README.md > README.md.new && mv README.md.new README.md

# Programs that the benchmarks run, each with its package: the peers, the load, and what counts and draws.
BENCH_PROGRAMS := nginx:nginx-light squid:squid varnishd:varnish traffic_server:trafficserver wrk:wrk curl:curl \
  gnuplot:gnuplot-nox strace:strace
COUNT_PROGRAMS := nginx:nginx-light valgrind:valgrind
BENCHMARKS = LARDER_BINARY=$(CURDIR)/$(BINARY) .build/$(CONFIGURATION)/Benchmarks

.PHONY: bench-build bench-quick bench-counts bench-allocations bench-thresholds bench-readme
bench-build: build
	swift build -c $(CONFIGURATION) --product Benchmarks

# Beside the peers, by processor time (Benchmarks/README.md). ROWS may name some of micro, first-byte, memory, peers,
# calls, floor, counts, allocations, scale, slow.
bench: bench-build
	@Benchmarks/install $(BENCH_PROGRAMS) $(COUNT_PROGRAMS)
	$(BENCHMARKS) $(ROWS)

# The peers in less than three minutes: one round each, a smaller large object. Results of their own.
bench-quick: bench-build
	@Benchmarks/install $(BENCH_PROGRAMS)
	$(BENCHMARKS) --quick --results .build/bench-quick.json peers

# Allocations and instructions per request against Benchmarks/thresholds.json: fails where one has grown.
bench-counts: bench-build
	@Benchmarks/install $(COUNT_PROGRAMS)
	$(BENCHMARKS) --results .build/bench-counts.json counts

# The allocations alone, which come out the same on a busy machine.
bench-allocations: bench-build
	@Benchmarks/install nginx:nginx-light
	$(BENCHMARKS) --results .build/bench-allocations.json allocations

# Makes what is counted now the thresholds.
bench-thresholds: bench-build
	@Benchmarks/install $(COUNT_PROGRAMS)
	$(BENCHMARKS) --results .build/bench-counts.json --update counts

# Writes the tables of Benchmarks/README.md from the results of the last run.
bench-readme: bench-build
	$(BENCHMARKS) readme

clean:
	rm -rf .build
