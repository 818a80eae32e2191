// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <curl/curl.h>
#include <stdbool.h>
#include <stdint.h>

#pragma clang assume_nonnull begin

// Calls curl_global_init, without libcurl opening the file named by the environment variable SSLKEYLOGFILE. Two threads
// must not call it at the same time.
CURLcode clastro_global_init(long flags);

// Call curl_easy_setopt with an argument of the named type.
CURLcode clastro_set_long(CURL *easy, CURLoption option, long value);
CURLcode clastro_set_ptr(CURL *easy, CURLoption option, const void *_Nullable value);
// Sets a blob, which libcurl copies (CURL_BLOB_COPY).
CURLcode clastro_set_blob(CURL *easy, CURLoption option, const void *data, size_t length);

typedef size_t (*clastro_data_callback)(char *_Nullable buffer, size_t size, size_t count, void *_Nullable owner);
typedef int (*clastro_prereq_callback)(
  void *_Nullable owner, char *_Nullable remote, char *_Nullable local, int remote_port, int local_port);

// Makes libcurl call `step` whenever it reports progress. A result other than 0 ends the transfer.
typedef int (*clastro_progress_callback)(
  void *_Nullable owner, curl_off_t, curl_off_t received, curl_off_t, curl_off_t sent);
void clastro_install_progress(CURL *easy, void *owner, clastro_progress_callback step);

// Makes a share of TLS sessions, for handles of one thread. Free it with curl_share_cleanup() after the handles.
CURLSH *_Nullable clastro_make_session_share(void);

// Makes a socket for a connection. It is close-on-exec, unlike libcurl's own sockets. A stream socket other than a Unix
// socket gets a limit on its unsent bytes.
curl_socket_t clastro_make_socket(const struct curl_sockaddr *address);

typedef curl_socket_t (*clastro_open_callback)(
  void *_Nullable keeper, curlsocktype purpose, struct curl_sockaddr *_Nullable address);
typedef int (*clastro_close_callback)(void *_Nullable keeper, curl_socket_t socket);
// Sets the functions that open and close the sockets of a handle. A connection keeps the closing function and may
// outlive the handle's use.
void clastro_install_socket_keeper(
  CURL *easy, void *opener, clastro_open_callback open, void *keeper, clastro_close_callback close);
// Copies the bytes of an address and its port. Returns the number of bytes, 4 or 16; 0 if the address is neither IPv4
// nor IPv6.
int clastro_read_address(const struct curl_sockaddr *address, uint8_t *bytes, int *port);

typedef int (*clastro_socket_callback)(
  CURL *_Nullable easy, curl_socket_t socket, int what, void *_Nullable loop, void *_Nullable assigned);
typedef int (*clastro_timer_callback)(CURLM *_Nullable multi, long milliseconds, void *_Nullable loop);
void clastro_multi_install(
  CURLM *multi, void *loop, clastro_socket_callback socket, clastro_timer_callback timer);

// Returns the private pointer of an easy handle.
void *_Nullable clastro_private(CURL *easy);

// Facts about a transfer, read with curl_easy_getinfo in one call. Times are in microseconds, 0 for a step that did not
// happen. The second line of fields explains failures: it is read only if `has_failed` is true, else it is 0.
typedef struct {
  int64_t name_lookup, connect, app_connect;
  long connect_code, os_errno, proxy_error, verify_result;
} clastro_facts;
void clastro_read_facts(CURL *easy, clastro_facts *facts, bool has_failed);

// Returns libcurl's run-time version record, which includes the feature bits.
curl_version_info_data *clastro_version(void);

#pragma clang assume_nonnull end
