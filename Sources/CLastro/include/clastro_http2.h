// SPDX-License-Identifier: Apache-2.0
// What is asked of a transfer's HTTP/2 connection.
#pragma once

#include <curl/curl.h>
#include <stdbool.h>
#include <stdint.h>

#pragma clang assume_nonnull begin

// Whether the connection about to serve `easy` speaks HTTP/2 over TLS, and whether it was made for an earlier transfer.
// Only inside callbacks of the transfer.
bool clastro_speaks_http2(CURL *easy);
bool clastro_is_reused(CURL *easy);

// Whether something lies in a socket: bytes, or its end.
bool clastro_has_input(int socket);

// Bytes that came of heads (CURLINFO_HEADER_SIZE), and of the body before it is decoded (CURLINFO_SIZE_DOWNLOAD_T).
int64_t clastro_head_bytes(CURL *easy);
int64_t clastro_body_bytes(CURL *easy);

// The status of the latest head that came over HTTP/2, also of one that libcurl did not hand over; 0 where none came.
int clastro_latest_status(CURL *easy);

#pragma clang assume_nonnull end
