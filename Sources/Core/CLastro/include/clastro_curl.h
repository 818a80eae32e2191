// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <curl/curl.h>
#include <stdbool.h>
#include <stdint.h>

#pragma clang assume_nonnull begin

// Calls curl_global_init, without libcurl opening the file named by the environment variable SSLKEYLOGFILE. Two threads
// must not call it at the same time.
CURLcode clastro_global_init(void);

// Call curl_easy_setopt with an argument of the named type.
CURLcode clastro_set_long(CURL *easy, CURLoption option, long value);
CURLcode clastro_set_ptr(CURL *easy, CURLoption option, const void *_Nullable value);
// Calls curl_easy_getinfo. `value` points to a variable of the type that libcurl documents for `info`, which is left as
// it is if libcurl does not know the fact.
void clastro_get(CURL *easy, CURLINFO info, void *value);

// Makes libcurl call `step` whenever it reports progress. A result other than 0 ends the transfer.
void clastro_install_progress(CURL *easy, void *owner, curl_xferinfo_callback step);

// Makes a share of TLS sessions, for handles of one thread. Free it with curl_share_cleanup() after the handles.
CURLSH *_Nullable clastro_make_session_share(void);

// Makes a socket for a connection. It is close-on-exec, unlike libcurl's own sockets. A stream socket other than a Unix
// socket gets a limit on its unsent bytes.
curl_socket_t clastro_make_socket(const struct curl_sockaddr *address);

// Sets the functions that open and close the sockets of a handle. A connection keeps the closing function and may
// outlive the handle's use. If `close` is NULL, libcurl closes the sockets.
void clastro_install_socket_keeper(
  CURL *easy, void *opener, curl_opensocket_callback open, void *_Nullable keeper,
  curl_closesocket_callback _Nullable close);
// Copies the bytes of an address and its port. Returns the number of bytes, 4 or 16; 0 if the address is neither IPv4
// nor IPv6.
int clastro_read_address(const struct curl_sockaddr *address, uint8_t *bytes, int *port);

void clastro_multi_install(CURLM *multi, void *loop, curl_socket_callback socket, curl_multi_timer_callback timer);

// Facts about a transfer, read with curl_easy_getinfo. Times are in microseconds, 0 for a step that did not happen. The
// second line of fields explains failures.
typedef struct {
  int64_t name_lookup, connect, app_connect;
  long connect_code, os_errno, proxy_error, verify_result;
} clastro_facts;

// Returns libcurl's run-time version record, which includes the feature bits.
curl_version_info_data *clastro_version(void);

#pragma clang assume_nonnull end
