// SPDX-License-Identifier: Apache-2.0
#include "loop.h"

#include <errno.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "fail.h"

// As many streams as the server allows.
enum { EVENTS = 256, STREAMS_PER_CONNECTION = 1000 };

int64_t monotonic_ns(void) {
  struct timespec now;
  if (clock_gettime(CLOCK_MONOTONIC, &now) != 0) fail_errno("clock_gettime");
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int timer_changed(CURLM *multi, long milliseconds, void *context) {
  (void)multi;
  struct loop *loop = context;
  loop->deadline = milliseconds < 0 ? -1 : monotonic_ns() + (int64_t)milliseconds * 1000000;
  return 0;
}

static int socket_changed(CURL *easy, curl_socket_t socket, int what, void *context, void *known) {
  (void)easy;
  struct loop *loop = context;
  if (what == CURL_POLL_REMOVE) {
    if (known != NULL && epoll_ctl(loop->epoll, EPOLL_CTL_DEL, socket, NULL) != 0) fail_errno("epoll_ctl DEL");
    return 0;
  }
  struct epoll_event event = {
    .events = ((what & CURL_POLL_IN) ? EPOLLIN : 0) | ((what & CURL_POLL_OUT) ? EPOLLOUT : 0), .data.fd = socket};
  if (epoll_ctl(loop->epoll, known == NULL ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, socket, &event) != 0) {
    fail_errno("epoll_ctl");
  }
  if (known == NULL) check_multi(curl_multi_assign(loop->multi, socket, loop), "curl_multi_assign");
  return 0;
}

static void set_multi(struct loop *loop, CURLMoption option, long value) {
  check_multi(curl_multi_setopt(loop->multi, option, value), "curl_multi_setopt");
}

void loop_open(struct loop *loop, long http, long most) {
  loop->deadline = -1;
  loop->epoll = epoll_create1(EPOLL_CLOEXEC);
  if (loop->epoll < 0) fail_errno("epoll_create1");
  loop->multi = curl_multi_init();
  if (loop->multi == NULL) fail("curl_multi_init");
  check_multi(curl_multi_setopt(loop->multi, CURLMOPT_SOCKETFUNCTION, socket_changed), "SOCKETFUNCTION");
  check_multi(curl_multi_setopt(loop->multi, CURLMOPT_SOCKETDATA, loop), "SOCKETDATA");
  check_multi(curl_multi_setopt(loop->multi, CURLMOPT_TIMERFUNCTION, timer_changed), "TIMERFUNCTION");
  check_multi(curl_multi_setopt(loop->multi, CURLMOPT_TIMERDATA, loop), "TIMERDATA");
  set_multi(loop, CURLMOPT_MAXCONNECTS, most);
  if (http == 2) {
    // With libcurl's own limit of 100 streams each further transfer would open a connection for itself. Fewer
    // connections would do too, but what waits inside libcurl is looked at again whenever a transfer ends.
    set_multi(loop, CURLMOPT_MAX_CONCURRENT_STREAMS, STREAMS_PER_CONNECTION);
    set_multi(loop, CURLMOPT_MAX_HOST_CONNECTIONS, (most + STREAMS_PER_CONNECTION - 1) / STREAMS_PER_CONNECTION);
  }
}

void loop_close(struct loop *loop) {
  check_multi(curl_multi_cleanup(loop->multi), "curl_multi_cleanup");
  if (close(loop->epoll) != 0) fail_errno("close");
}

void loop_add(struct loop *loop, CURL *easy) { check_multi(curl_multi_add_handle(loop->multi, easy), "add_handle"); }

void loop_remove(struct loop *loop, CURL *easy) {
  check_multi(curl_multi_remove_handle(loop->multi, easy), "remove_handle");
}

static int wait_ms(int64_t deadline) {
  if (deadline < 0) return -1;
  int64_t left = deadline - monotonic_ns();
  return left <= 0 ? 0 : (int)((left + 999999) / 1000000);
}

static void act(struct loop *loop, curl_socket_t socket, int bits) {
  int running = 0;
  check_multi(curl_multi_socket_action(loop->multi, socket, bits, &running), "curl_multi_socket_action");
}

static int select_bits(uint32_t events) {
  return ((events & EPOLLIN) ? CURL_CSELECT_IN : 0) | ((events & EPOLLOUT) ? CURL_CSELECT_OUT : 0) |
    ((events & (EPOLLERR | EPOLLHUP)) ? CURL_CSELECT_ERR : 0);
}

void loop_turn(struct loop *loop, ended_callback ended, void *context) {
  struct epoll_event events[EVENTS];
  int count = epoll_wait(loop->epoll, events, EVENTS, wait_ms(loop->deadline));
  if (count < 0 && errno != EINTR) fail_errno("epoll_wait");
  for (int index = 0; index < count; index++) {
    act(loop, events[index].data.fd, select_bits(events[index].events));
  }
  if (loop->deadline >= 0 && monotonic_ns() >= loop->deadline) {
    loop->deadline = -1;
    act(loop, CURL_SOCKET_TIMEOUT, 0);
  }
  int left = 0;
  for (CURLMsg *message; (message = curl_multi_info_read(loop->multi, &left)) != NULL;) {
    if (message->msg != CURLMSG_DONE) continue;
    // The message does not outlive the removal.
    CURL *easy = message->easy_handle;
    CURLcode result = message->data.result;
    loop_remove(loop, easy);
    ended(context, easy, result);
  }
}
