// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <curl/curl.h>

#include "clastro_curl.h"

#pragma clang assume_nonnull begin

// Installs the callbacks of a handle; `owner` is its private pointer. Headers and bodies are passed to `discard`.
void clastro_install_dial_callbacks(
  CURL *easy, void *owner, curl_write_callback discard, curl_prereq_callback _Nullable prereq);

// Opens a non-blocking UDP socket that is connected to a numeric address. If `local` is not NULL, the socket is bound
// to that numeric address or network interface. Returns -1 and sets errno on failure.
int clastro_open_datagrams(const char *address, const char *port, const char *_Nullable local);
// Returns the local port of a socket of IPv4 or IPv6; 0 if it is not known.
int clastro_local_port(int socket);

#pragma clang assume_nonnull end
