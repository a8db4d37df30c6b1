// libevent's event-config.h defines _GNU_SOURCE; without features.h read first, Glibc's module and
// this one would see two different fd_set.
#include <features.h>
#include <event2/event.h>
#include <event2/buffer.h>
#include <event2/listener.h>
#include <event2/thread.h>
#include <event2/util.h>
#include <netdb.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

// GNU extensions, which Glibc's module leaves out.

extern int accept4(int listener, struct sockaddr *peer, socklen_t *size, int flags);

static inline int accept_nonblocking(int listener, struct sockaddr *peer, socklen_t *size) {
  return accept4(listener, peer, size, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

static inline int make_eventfd(void) { return eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC); }

static const int resolver_no_data = -5;         // EAI_NODATA
static const int resolver_address_family = -9;  // EAI_ADDRFAMILY
