// SPDX-License-Identifier: Apache-2.0

// Responses, read by libcurl: each input is the whole of what a connection brings.

#include <curl/curl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

struct bytes {
  unsigned char *data;
  size_t count, room;
};

static void add(struct bytes *to, const void *data, size_t count) {
  if (to->count + count > to->room) {
    to->room = 2 * (to->count + count);
    to->data = realloc(to->data, to->room);
    if (!to->data) abort();
  }
  memcpy(to->data + to->count, data, count);
  to->count += count;
}

static struct bytes body;

static size_t on_body(char *data, size_t size, size_t count, void *unused) {
  (void)unused;
  add(&body, data, size * count);
  return size * count;
}

// A listener in the abstract name space, and the server's end of the connection.
static int listener, server;
static char name[64];

struct input {
  const unsigned char *data;
  size_t length;
};

// Called when libcurl is connected, before it sends its request: sends the whole response, and ends the connection.
static int answer(void *given, char *remote, char *local, int remote_port, int local_port) {
  (void)remote, (void)local, (void)remote_port, (void)local_port;
  const struct input *input = given;
  int room = (int)input->length + 65536;
  server = accept(listener, NULL, NULL);
  setsockopt(server, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
  if (send(server, input->data, input->length, MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)input->length) {
    fprintf(stderr, "an input of %zu bytes is too long\n", input->length);
    exit(1);
  }
  shutdown(server, SHUT_WR);
  return CURL_PREREQFUNC_OK;
}

static void listen_for_curl(void) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  int length = snprintf(name, sizeof name, "lastro-readers-%d", (int)getpid());
  memcpy(address.sun_path + 1, name, (size_t)length);
  listener = socket(AF_UNIX, SOCK_STREAM, 0);
  if (bind(listener, (struct sockaddr *)&address, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length)) ||
      listen(listener, 8)) {
    perror("the socket for libcurl");
    exit(1);
  }
}

static void print_string(const char *text, size_t count) {
  const unsigned char *data = (const unsigned char *)text;
  putchar('"');
  for (size_t i = 0; i < count; i++) {
    if (data[i] < 0x20 || data[i] > 0x7e || data[i] == '"' || data[i] == '\\') printf("\\u%04x", data[i]);
    else putchar(data[i]);
  }
  putchar('"');
}

static void print_fields(CURL *handle, unsigned origin) {
  struct curl_header *field = NULL;
  const char *between = "";
  putchar('[');
  while ((field = curl_easy_nextheader(handle, origin, -1, field))) {
    printf("%s[", between);
    print_string(field->name, strlen(field->name));
    putchar(',');
    print_string(field->value, strlen(field->value));
    putchar(']');
    between = ",";
  }
  putchar(']');
}

// The texts are raw: the driver decodes them. libcurl does not say where the response ended.
static void print_response(CURL *handle) {
  long status = 0, version = 0;
  curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
  curl_easy_getinfo(handle, CURLINFO_HTTP_VERSION, &version);
  const char *name = version == CURL_HTTP_VERSION_1_0 ? "1.0" : version == CURL_HTTP_VERSION_1_1 ? "1.1" : "other";
  printf("{\"version\":\"%s\",\"status\":%ld,\"reason\":null,\"raw\":true,\"fields\":", name, status);
  print_fields(handle, CURLH_HEADER);
  printf(",\"body\":");
  print_string((const char *)body.data, body.count);
  printf(",\"trailers\":");
  print_fields(handle, CURLH_TRAILER);
  printf(",\"rest\":null,\"keeps\":null");
}

static void read_one(const char *method, unsigned char *data, size_t length) {
  struct input input = {data, length};
  body.count = 0;
  CURL *handle = curl_easy_init();
  curl_easy_setopt(handle, CURLOPT_URL, "http://127.0.0.1/");
  curl_easy_setopt(handle, CURLOPT_PROXY, "");
  curl_easy_setopt(handle, CURLOPT_TIMEOUT, 20L);
  curl_easy_setopt(handle, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
  curl_easy_setopt(handle, CURLOPT_NOBODY, (long)!strcmp(method, "HEAD"));
  curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, on_body);
  curl_easy_setopt(handle, CURLOPT_ABSTRACT_UNIX_SOCKET, name);
  curl_easy_setopt(handle, CURLOPT_PREREQFUNCTION, answer);
  curl_easy_setopt(handle, CURLOPT_PREREQDATA, &input);
  CURLcode code = curl_easy_perform(handle);
  close(server);
  if (code) {
    const char *text = curl_easy_strerror(code);
    printf("{\"no\":");
    print_string(text, strlen(text));
  } else {
    print_response(handle);
  }
  printf("}\n");
  curl_easy_cleanup(handle);
}

int main(int count, char **words) {
  if (count > 1 && !strcmp(words[1], "--version")) return puts(curl_version_info(CURLVERSION_NOW)->version) < 0;
  char method[32];
  size_t length;
  curl_global_init(CURL_GLOBAL_ALL);
  listen_for_curl();
  while (scanf("%31s %zu", method, &length) == 2) {
    getchar();
    unsigned char *data = malloc(length + 1);
    if (!data || fread(data, 1, length, stdin) != length) abort();
    read_one(method, data, length);
    free(data);
  }
  return 0;
}
