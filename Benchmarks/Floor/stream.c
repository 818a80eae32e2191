// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "easy.h"
#include "fail.h"
#include "loop.h"
#include "scenarios.h"

enum { CHUNK = 65536, RECEIVE_BUFFER = 131072 };

// One transfer at a time whose body goes through a callback.
struct stream {
  struct loop loop;
  CURL *easy;
  int file;
  long long bytes;
  bool ended;
};

static size_t consume(char *data, size_t size, size_t count, void *context) {
  struct stream *stream = context;
  size_t length = size * count;
  for (size_t written = 0; stream->file >= 0 && written < length;) {
    ssize_t result = write(stream->file, data + written, length - written);
    if (result < 0) fail_errno("write");
    written += (size_t)result;
  }
  stream->bytes += (long long)length;
  return length;
}

static size_t ignore(char *data, size_t size, size_t count, void *context) {
  (void)data, (void)context;
  return size * count;
}

// `bytes` counts down to nothing here.
static size_t produce(char *data, size_t size, size_t count, void *context) {
  static const char zeros[CHUNK];
  struct stream *stream = context;
  size_t length = size * count < CHUNK ? size * count : CHUNK;
  if ((long long)length > stream->bytes) length = (size_t)stream->bytes;
  memcpy(data, zeros, length);
  stream->bytes -= (long long)length;
  return length;
}

static void ended(void *context, CURL *easy, CURLcode result) {
  struct stream *stream = context;
  easy_check(easy, result);
  stream->ended = true;
}

static void stream_open(struct stream *stream, const struct arguments *arguments) {
  *stream = (struct stream){.file = -1};
  loop_open(&stream->loop, arguments->http, 1);
  stream->easy = easy_new(arguments);
  check_easy(curl_easy_setopt(stream->easy, CURLOPT_URL, arguments->url), "URL");
}

static void stream_close(struct stream *stream) {
  curl_easy_cleanup(stream->easy);
  loop_close(&stream->loop);
}

static void transfer(struct stream *stream) {
  stream->ended = false;
  loop_add(&stream->loop, stream->easy);
  while (!stream->ended) loop_turn(&stream->loop, ended, stream);
}

static void download(struct stream *stream, const struct arguments *arguments) {
  stream->bytes = 0;
  if (arguments->file != NULL) {
    stream->file = open(arguments->file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (stream->file < 0) fail_errno(arguments->file);
  }
  transfer(stream);
  if (stream->file >= 0 && close(stream->file) != 0) fail_errno(arguments->file);
  if (stream->bytes != arguments->size) fail("%lld bytes came instead of %lld", stream->bytes, arguments->size);
}

static void upload(struct stream *stream, const struct arguments *arguments) {
  stream->bytes = arguments->size;
  transfer(stream);
  if (stream->bytes != 0) fail("answered %lld bytes before the end of the body", stream->bytes);
}

static struct result measured(
  struct stream *stream, const struct arguments *arguments,
  void (*one)(struct stream *stream, const struct arguments *arguments)) {
  for (long index = 0; index < arguments->warmup; index++) one(stream, arguments);
  struct result result = {
    .requests = arguments->requests, .bytes = arguments->requests * arguments->size, .begin = stamp_now()};
  for (long index = 0; index < arguments->requests; index++) one(stream, arguments);
  result.end = stamp_now();
  return result;
}

struct result run_download(const struct arguments *arguments) {
  struct stream stream;
  stream_open(&stream, arguments);
  // A few large reads are cheaper than the many of libcurl's usual 16 KiB; the curl command sets about the same.
  check_easy(curl_easy_setopt(stream.easy, CURLOPT_BUFFERSIZE, (long)RECEIVE_BUFFER), "BUFFERSIZE");
  check_easy(curl_easy_setopt(stream.easy, CURLOPT_WRITEFUNCTION, consume), "WRITEFUNCTION");
  check_easy(curl_easy_setopt(stream.easy, CURLOPT_WRITEDATA, &stream), "WRITEDATA");
  struct result result = measured(&stream, arguments, download);
  stream_close(&stream);
  return result;
}

struct result run_upload(const struct arguments *arguments) {
  struct stream stream;
  stream_open(&stream, arguments);
  // Without it libcurl would wait for the server's leave to send the body.
  struct curl_slist *headers = curl_slist_append(NULL, "Expect:");
  if (headers == NULL) fail("curl_slist_append");
  check_easy(curl_easy_setopt(stream.easy, CURLOPT_HTTPHEADER, headers), "HTTPHEADER");
  check_easy(curl_easy_setopt(stream.easy, CURLOPT_POST, 1L), "POST");
  check_easy(curl_easy_setopt(stream.easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)arguments->size), "POSTFIELDSIZE");
  check_easy(curl_easy_setopt(stream.easy, CURLOPT_READFUNCTION, produce), "READFUNCTION");
  check_easy(curl_easy_setopt(stream.easy, CURLOPT_READDATA, &stream), "READDATA");
  check_easy(curl_easy_setopt(stream.easy, CURLOPT_WRITEFUNCTION, ignore), "WRITEFUNCTION");
  struct result result = measured(&stream, arguments, upload);
  stream_close(&stream);
  curl_slist_free_all(headers);
  return result;
}
