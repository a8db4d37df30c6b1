#include <lmdb.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/uio.h>

// What the store's files need of Linux and glibc's headers show only with _GNU_SOURCE. Defining that here would give
// two modules different views of the same headers.
ssize_t preadv2(int descriptor, const struct iovec *vectors, int count, off_t offset, int flags);
int fallocate(int descriptor, int mode, off_t offset, off_t length);
enum { larder_rwf_nowait = 0x8, larder_falloc_keep_size = 0x1, larder_falloc_punch_hole = 0x2 };

// How often the calling thread has given the processor away because it had to wait; 1 is RUSAGE_THREAD.
static inline long larder_thread_sleeps(void) {
  struct rusage usage;
  return getrusage(1, &usage) == 0 ? usage.ru_nvcsw : 0;
}
