/* Caps the map of the index, which is larger than the address space that valgrind has left.
   Built and laid under a program (LD_PRELOAD) by the benchmarks. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>

int mdb_env_set_mapsize(void *environment, size_t size) {
  int (*next)(void *, size_t) = (int (*)(void *, size_t))dlsym(RTLD_NEXT, "mdb_env_set_mapsize");
  const size_t most = (size_t)1 << 30;
  unsetenv("LD_PRELOAD");
  return next(environment, size < most ? size : most);
}
