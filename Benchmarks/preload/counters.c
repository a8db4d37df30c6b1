/* Counts what a process does, into a file that another maps: allocations, and how long its loops' turns last.
   Built and laid under a program (LD_PRELOAD) by the benchmarks; BENCH_COUNTERS names the file. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

struct counters {
  _Atomic uint64_t allocations;
  _Atomic uint64_t allocated_bytes;
  /* Of the turns between two waits for events, the longest, in nanoseconds: by the clock, and by the processor. */
  _Atomic uint64_t longest_turn;
  _Atomic uint64_t longest_turn_processor;
  _Atomic uint64_t turns;
  /* Turns of more than 2 ms of processor time. */
  _Atomic uint64_t long_turns;
};

/* Where it counts until, or without, a file. */
static struct counters unnamed;
static struct counters *counters = &unnamed;

__attribute__((constructor)) static void begin(void) {
  const char *path = getenv("BENCH_COUNTERS");
  if (!path) return;
  int file = open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return;
  void *map = mmap(NULL, sizeof(struct counters), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (map != MAP_FAILED) counters = map;
  /* What this program starts is not counted. */
  unsetenv("LD_PRELOAD");
  unsetenv("BENCH_COUNTERS");
}

/* glibc's own names: looking them up by dlsym would allocate. */
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static void count(size_t size) {
  atomic_fetch_add_explicit(&counters->allocations, 1, memory_order_relaxed);
  atomic_fetch_add_explicit(&counters->allocated_bytes, size, memory_order_relaxed);
}

void *malloc(size_t size) {
  count(size);
  return __libc_malloc(size);
}

void *calloc(size_t number, size_t size) {
  count(number * size);
  return __libc_calloc(number, size);
}

void *realloc(void *old, size_t size) {
  count(size);
  return __libc_realloc(old, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
  count(size);
  return __libc_memalign(alignment, size);
}

int posix_memalign(void **result, size_t alignment, size_t size) {
  count(size);
  void *made = __libc_memalign(alignment, size);
  if (!made) return ENOMEM;
  *result = made;
  return 0;
}

static uint64_t now(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void raise_to(_Atomic uint64_t *longest, uint64_t found) {
  uint64_t known = atomic_load_explicit(longest, memory_order_relaxed);
  while (found > known && !atomic_compare_exchange_weak(longest, &known, found)) {
  }
}

int epoll_wait(int epoll, struct epoll_event *events, int most, int timeout) {
  static int (*next)(int, struct epoll_event *, int, int);
  static _Thread_local uint64_t began, began_processor;
  if (!next) next = (int (*)(int, struct epoll_event *, int, int))dlsym(RTLD_NEXT, "epoll_wait");
  if (began) {
    uint64_t processor = now(CLOCK_THREAD_CPUTIME_ID) - began_processor;
    raise_to(&counters->longest_turn, now(CLOCK_MONOTONIC) - began);
    raise_to(&counters->longest_turn_processor, processor);
    atomic_fetch_add_explicit(&counters->turns, 1, memory_order_relaxed);
    if (processor > 2000000) atomic_fetch_add_explicit(&counters->long_turns, 1, memory_order_relaxed);
  }
  int count = next(epoll, events, most, timeout);
  int error = errno;
  began = now(CLOCK_MONOTONIC);
  began_processor = now(CLOCK_THREAD_CPUTIME_ID);
  errno = error;
  return count;
}
