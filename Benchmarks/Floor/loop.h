// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <curl/curl.h>
#include <stdint.h>

// One multi handle driven by epoll through curl_multi_socket_action.
struct loop {
  int epoll;
  CURLM *multi;
  // When libcurl wants to be called again, in nanoseconds of CLOCK_MONOTONIC; negative: not at all.
  int64_t deadline;
};

// Told of each transfer that has ended, after its handle left the multi handle: it may be added again at once.
typedef void (*ended_callback)(void *context, CURL *easy, CURLcode result);

// The loop must stay at its address. Over HTTP/1.1 every transfer in flight may have a connection of its own, and
// `most` of them are kept open; over HTTP/2 there are as many as `most` streams need.
void loop_open(struct loop *loop, long http, long most);
void loop_close(struct loop *loop);
void loop_add(struct loop *loop, CURL *easy);
void loop_remove(struct loop *loop, CURL *easy);

// Waits for one batch of events and acts on it.
void loop_turn(struct loop *loop, ended_callback ended, void *context);

int64_t monotonic_ns(void);
