/* The least that a proxy can do for a miss: it passes octets between each client and a connection of its own to the
   origin, reads nothing and keeps nothing. `relay ORIGIN_PORT`; it says which port of 127.0.0.1 it has. */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define MOST 65536

/* The other connection of each, or -1. */
static int other[MOST];

static void watch(int epoll, int descriptor) {
  struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.fd = descriptor};
  int yes = 1;
  setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event);
}

static void join(int epoll, int client, const struct sockaddr_in *origin) {
  int upstream = socket(AF_INET, SOCK_STREAM, 0);
  if (client < 0 || client >= MOST || upstream < 0 || upstream >= MOST ||
      connect(upstream, (const struct sockaddr *)origin, sizeof *origin) != 0) {
    perror("relay");
    exit(1);
  }
  other[client] = upstream;
  other[upstream] = client;
  watch(epoll, client);
  watch(epoll, upstream);
}

static void pass(int from) {
  static char octets[65536];
  if (other[from] < 0) return;
  ssize_t count = recv(from, octets, sizeof octets, MSG_DONTWAIT);
  if (count > 0) {
    send(other[from], octets, (size_t)count, MSG_NOSIGNAL);
  } else if (count == 0) {
    int to = other[from];
    other[from] = other[to] = -1;
    close(from);
    close(to);
  }
}

int main(int count, char **arguments) {
  if (count != 2) return 2;
  struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  struct sockaddr_in origin = own;
  origin.sin_port = htons((uint16_t)atoi(arguments[1]));
  socklen_t size = sizeof own;
  int listener = socket(AF_INET, SOCK_STREAM, 0), epoll = epoll_create1(0);
  if (bind(listener, (struct sockaddr *)&own, size) != 0 || listen(listener, 128) != 0 ||
      getsockname(listener, (struct sockaddr *)&own, &size) != 0) {
    perror("relay");
    return 1;
  }
  printf("relay: listening on 127.0.0.1:%d\n", ntohs(own.sin_port));
  fflush(stdout);
  struct epoll_event event = {.events = EPOLLIN, .data.fd = listener}, ready[64];
  epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event);
  for (;;) {
    int found = epoll_wait(epoll, ready, 64, -1);
    for (int index = 0; index < found; index++) {
      int descriptor = ready[index].data.fd;
      if (descriptor == listener)
        join(epoll, accept(listener, NULL, NULL), &origin);
      else
        pass(descriptor);
    }
  }
}
