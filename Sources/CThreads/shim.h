#include <malloc.h>

// glibc's header shows it only with _GNU_SOURCE; defining that here would give two modules different views of the header.
// A pthread_t is an unsigned long there.
int pthread_setname_np(unsigned long thread, const char *name);
