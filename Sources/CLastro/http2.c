// SPDX-License-Identifier: Apache-2.0
#include "CLastro.h"

#include <openssl/ssl.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "tls_session.h"

bool clastro_speaks_http2(CURL *easy) {
  SSL *ssl = clastro_session_of(easy);
  if (!ssl) return false;
  const unsigned char *protocol = NULL;
  unsigned int length = 0;
  SSL_get0_alpn_selected(ssl, &protocol, &length);
  return length == 2 && protocol[0] == 'h' && protocol[1] == '2';
}

bool clastro_is_reused(CURL *easy) {
  long new_connections = 1;
  curl_easy_getinfo(easy, CURLINFO_NUM_CONNECTS, &new_connections);
  return new_connections == 0;
}

bool clastro_has_input(int socket) {
  char byte;
  return recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0;
}

int64_t clastro_head_bytes(CURL *easy) {
  long size = 0;
  curl_easy_getinfo(easy, CURLINFO_HEADER_SIZE, &size);
  return size;
}

int64_t clastro_body_bytes(CURL *easy) {
  curl_off_t size = 0;
  curl_easy_getinfo(easy, CURLINFO_SIZE_DOWNLOAD_T, &size);
  return size;
}

int clastro_latest_status(CURL *easy) {
  struct curl_header *status = NULL;
  if (curl_easy_header(easy, ":status", 0, CURLH_PSEUDO, -1, &status)) return 0;
  // Interim answers have one each.
  size_t last = status->amount - 1;
  if (last > 0 && curl_easy_header(easy, ":status", last, CURLH_PSEUDO, -1, &status)) return 0;
  return atoi(status->value);
}
