// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "CLastro.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tls_session.h"

void clastro_install_dial_callbacks(
  CURL *easy, void *owner, clastro_data_callback discard, clastro_prereq_callback prereq) {
  curl_easy_setopt(easy, CURLOPT_PRIVATE, owner);
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, discard);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, discard);
  curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, prereq);
  curl_easy_setopt(easy, CURLOPT_PREREQDATA, owner);
}

bool clastro_context_carry_stream(void *context, const uint8_t *alpn, size_t length) {
  SSL_CTX_set_mode(context, SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  if (length > UINT_MAX) return false;
  // Unlike most OpenSSL functions, SSL_CTX_set_alpn_protos returns 0 on success.
  return length == 0 || SSL_CTX_set_alpn_protos(context, alpn, (unsigned)length) == 0;
}

size_t clastro_read_tls_agreement(
  const clastro_tls *tls, const char **version, const char **cipher, const uint8_t **alpn) {
  unsigned int length = 0;
  SSL_get0_alpn_selected(tls, alpn, &length);
  *version = SSL_get_version(tls);
  *cipher = SSL_get_cipher_name(tls);
  return length;
}

void clastro_each_presented(
  const clastro_tls *tls, void *owner, void (*found)(void *owner, const clastro_peer_certificate *certificate)) {
  STACK_OF(X509) *chain = SSL_get_peer_cert_chain(tls);
  for (int index = 0; index < sk_X509_num(chain); index++) {
    clastro_peer_certificate certificate = {0};
    if (clastro_describe(sk_X509_value(chain, index), &certificate)) found(owner, &certificate);
    OPENSSL_free((void *)certificate.der);
  }
}

curl_socket_t clastro_active_socket(CURL *easy) {
  curl_socket_t socket = CURL_SOCKET_BAD;
  if (curl_easy_getinfo(easy, CURLINFO_ACTIVESOCKET, &socket)) return CURL_SOCKET_BAD;
  return socket;
}

int clastro_os_errno(CURL *easy) {
  long code = 0;
  curl_easy_getinfo(easy, CURLINFO_OS_ERRNO, &code);
  return (int)code;
}

bool clastro_has_tls(CURL *easy) { return clastro_tls_of(easy) != NULL; }

void clastro_read_ahead(CURL *easy) {
  SSL *ssl = clastro_tls_of(easy);
  if (ssl) SSL_set_read_ahead(ssl, 1);
}

bool clastro_holds_input(CURL *easy) {
  SSL *ssl = clastro_tls_of(easy);
  return ssl && SSL_has_pending(ssl);
}

// Captures the bytes that a session writes during `body` and keeps them from its socket, because libcurl's own BIO
// works only within calls to libcurl. Returns the number of bytes, or -1.
static ssize_t written_by(
  SSL *ssl, bool (*body)(SSL *, const uint8_t *, size_t), const uint8_t *input, size_t length, uint8_t *bytes,
  size_t capacity) {
  BIO *memory = BIO_new(BIO_s_mem()), *own = SSL_get_wbio(ssl);
  if (!memory || !own || !BIO_up_ref(own)) {
    BIO_free(memory);
    return -1;
  }
  BIO_up_ref(memory);
  SSL_set0_wbio(ssl, memory);
  ERR_set_mark();
  bool good = body(ssl, input, length);
  ERR_pop_to_mark();
  SSL_set0_wbio(ssl, own);
  char *written = NULL;
  long count = BIO_get_mem_data(memory, &written);
  if (count < 0 || (size_t)count > capacity) good = false;
  if (good && count > 0) memcpy(bytes, written, (size_t)count);
  BIO_free(memory);
  return good ? count : -1;
}

static bool shut_down(SSL *ssl, const uint8_t *input, size_t length) {
  (void)input, (void)length;
  return SSL_shutdown(ssl) >= 0;
}

static bool write_all(SSL *ssl, const uint8_t *input, size_t length) {
  return SSL_write(ssl, input, (int)length) == (int)length;
}

ssize_t clastro_make_close_notify(CURL *easy, void *proxy_context, uint8_t *bytes, size_t capacity) {
  SSL *ssl = clastro_tls_of(easy);
  if (!ssl) return -1;
  if (!proxy_context) return written_by(ssl, shut_down, NULL, 0, bytes, capacity);
  SSL *proxy = clastro_session_of_context(proxy_context);
  uint8_t alert[512];
  ssize_t length = proxy ? written_by(ssl, shut_down, NULL, 0, alert, sizeof alert) : -1;
  if (length <= 0) return length;
  return written_by(proxy, write_all, alert, (size_t)length, bytes, capacity);
}

int clastro_resolve(const char *host, void *owner, void (*found)(void *owner, const char *address)) {
  struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_DGRAM}, *list = NULL;
  int code = getaddrinfo(host, NULL, &hints, &list);
  if (code) return code;
  for (struct addrinfo *one = list; one; one = one->ai_next) {
    char text[NI_MAXHOST];
    if (getnameinfo(one->ai_addr, one->ai_addrlen, text, sizeof text, NULL, 0, NI_NUMERICHOST) == 0) found(owner, text);
  }
  freeaddrinfo(list);
  return 0;
}

// Parses a numeric address and adds a port. Returns false if the text is not a numeric address.
static bool parse(const char *text, uint16_t port, struct sockaddr_storage *out, socklen_t *length) {
  char service[8];
  snprintf(service, sizeof service, "%u", port);
  struct addrinfo hints = {.ai_socktype = SOCK_DGRAM, .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV}, *list = NULL;
  if (getaddrinfo(text, service, &hints, &list)) return false;
  memcpy(out, list->ai_addr, list->ai_addrlen);
  *length = list->ai_addrlen;
  freeaddrinfo(list);
  return true;
}

static bool bind_to(int descriptor, const char *local) {
  struct sockaddr_storage address;
  socklen_t length;
  if (parse(local, 0, &address, &length)) return bind(descriptor, (struct sockaddr *)&address, length) == 0;
  if (strlen(local) >= IFNAMSIZ) {
    errno = ENODEV;
    return false;
  }
  return setsockopt(descriptor, SOL_SOCKET, SO_BINDTODEVICE, local, (socklen_t)strlen(local) + 1) == 0;
}

int clastro_open_datagrams(const char *text, uint16_t port, const char *local) {
  struct sockaddr_storage address;
  socklen_t length;
  if (!parse(text, port, &address, &length)) {
    errno = EINVAL;
    return -1;
  }
  int descriptor = socket(address.ss_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (descriptor < 0) return -1;
  if ((!local || bind_to(descriptor, local)) && connect(descriptor, (struct sockaddr *)&address, length) == 0) {
    return descriptor;
  }
  int code = errno;
  close(descriptor);
  errno = code;
  return -1;
}

static int port_of(const struct sockaddr_storage *address) {
  if (address->ss_family == AF_INET) return ntohs(((const struct sockaddr_in *)address)->sin_port);
  return address->ss_family == AF_INET6 ? ntohs(((const struct sockaddr_in6 *)address)->sin6_port) : 0;
}

void clastro_read_ports(int socket, int *remote, int *local) {
  struct sockaddr_storage address;
  socklen_t length = sizeof address;
  *remote = getpeername(socket, (struct sockaddr *)&address, &length) == 0 ? port_of(&address) : 0;
  length = sizeof address;
  *local = getsockname(socket, (struct sockaddr *)&address, &length) == 0 ? port_of(&address) : 0;
}
