// libevent's event-config.h defines _GNU_SOURCE; without features.h read first, Glibc's module and
// this one would see two different fd_set.
#include <features.h>
#include <event2/event.h>
#include <event2/buffer.h>
#include <event2/listener.h>
#include <event2/thread.h>
#include <event2/util.h>
