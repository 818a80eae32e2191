// SPDX-License-Identifier: Apache-2.0
#include "CLastro.h"

#include <netinet/in.h>
#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>

struct clastro_roots {
  X509_STORE *store;
};

clastro_roots *clastro_roots_parse(const char *pem, size_t length) {
  BIO *bio = BIO_new_mem_buf(pem, (int)length);
  X509_STORE *store = X509_STORE_new();
  int count = 0;
  X509 *certificate;
  while (bio && store && (certificate = PEM_read_bio_X509_AUX(bio, NULL, NULL, NULL))) {
    if (X509_STORE_add_cert(store, certificate) == 1) count++;
    X509_free(certificate);
  }
  ERR_clear_error();
  BIO_free(bio);
  clastro_roots *roots = count > 0 ? malloc(sizeof *roots) : NULL;
  if (!roots) {
    X509_STORE_free(store);
    return NULL;
  }
  // As libcurl does by default: a trusted intermediate is enough.
  X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN);
  roots->store = store;
  return roots;
}

void clastro_roots_free(clastro_roots *roots) {
  X509_STORE_free(roots->store);
  free(roots);
}

struct clastro_connection {
  atomic_int references;
  atomic_bool closed_cleanly;
  atomic_int fatal_alert;
};

static int connection_index = -1;
static pthread_once_t connection_index_once = PTHREAD_ONCE_INIT;

static void free_connection(
  void *parent, void *pointer, CRYPTO_EX_DATA *data, int index, long argl, void *argp) {
  (void)parent, (void)data, (void)index, (void)argl, (void)argp;
  if (pointer) clastro_connection_release(pointer);
}

static void make_connection_index(void) {
  connection_index = SSL_CTX_get_ex_new_index(0, NULL, NULL, NULL, free_connection);
}

static clastro_connection *connection_of(const SSL *ssl) {
  SSL_CTX *context = ssl ? SSL_get_SSL_CTX(ssl) : NULL;
  return context ? SSL_CTX_get_ex_data(context, connection_index) : NULL;
}

static void watch_alerts(const SSL *ssl, int where, int value) {
  if ((where & SSL_CB_READ_ALERT) != SSL_CB_READ_ALERT) return;
  clastro_connection *connection = connection_of(ssl);
  if (!connection) return;
  if ((value & 0xff) == SSL_AD_CLOSE_NOTIFY) {
    atomic_store(&connection->closed_cleanly, true);
  } else if ((value >> 8) == SSL3_AL_FATAL) {
    atomic_store(&connection->fatal_alert, value & 0xff);
  }
}

static CURLcode prepare_context(CURL *easy, void *context, void *roots) {
  (void)easy;
  SSL_CTX *ssl_context = context;
  clastro_connection *connection = malloc(sizeof *connection);
  if (!connection) return CURLE_OUT_OF_MEMORY;
  atomic_init(&connection->references, 1);
  atomic_init(&connection->closed_cleanly, false);
  atomic_init(&connection->fatal_alert, 0);
  if (SSL_CTX_set_ex_data(ssl_context, connection_index, connection) != 1) {
    free(connection);
    return CURLE_OUT_OF_MEMORY;
  }
  SSL_CTX_set_info_callback(ssl_context, watch_alerts);
  SSL_CTX_set_options(ssl_context, SSL_OP_NO_RENEGOTIATION);
  if (roots) SSL_CTX_set1_cert_store(ssl_context, ((const clastro_roots *)roots)->store);
  return CURLE_OK;
}

CURLcode clastro_install_tls_hook(CURL *easy, const clastro_roots *roots) {
  pthread_once(&connection_index_once, make_connection_index);
  if (connection_index < 0) return CURLE_OUT_OF_MEMORY;
  CURLcode code = curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, prepare_context);
  return code ? code : curl_easy_setopt(easy, CURLOPT_SSL_CTX_DATA, (void *)roots);
}

clastro_connection *clastro_connection_retain(CURL *easy) {
  struct curl_tlssessioninfo *session = NULL;
  if (curl_easy_getinfo(easy, CURLINFO_TLS_SSL_PTR, &session) || !session || !session->internals) return NULL;
  if (session->backend != CURLSSLBACKEND_OPENSSL) return NULL;
  clastro_connection *connection = connection_of(session->internals);
  if (connection) atomic_fetch_add(&connection->references, 1);
  return connection;
}

void clastro_connection_release(clastro_connection *connection) {
  if (atomic_fetch_sub(&connection->references, 1) == 1) free(connection);
}

bool clastro_connection_closed_cleanly(const clastro_connection *connection) {
  return atomic_load(&connection->closed_cleanly);
}

int clastro_connection_fatal_alert(const clastro_connection *connection) {
  return atomic_load(&connection->fatal_alert);
}

const char *clastro_alert_text(int alert) { return SSL_alert_desc_string_long(alert); }

static bool is_bound_to(int socket, int local_port) {
  struct sockaddr_storage address;
  socklen_t size = sizeof address;
  if (getsockname(socket, (struct sockaddr *)&address, &size)) return false;
  int port = address.ss_family == AF_INET    ? ntohs(((struct sockaddr_in *)&address)->sin_port)
             : address.ss_family == AF_INET6 ? ntohs(((struct sockaddr_in6 *)&address)->sin6_port)
                                             : 0;
  return port != 0 && port == local_port;
}

void clastro_shut_down_socket(int socket, int local_port) {
  if (is_bound_to(socket, local_port)) shutdown(socket, SHUT_RDWR);
}

bool clastro_has_unsolicited_input(CURL *easy, int socket, int local_port) {
  long new_connections = 1;
  curl_easy_getinfo(easy, CURLINFO_NUM_CONNECTS, &new_connections);
  if (new_connections > 0) return false;
  struct curl_tlssessioninfo *session = NULL;
  if (!curl_easy_getinfo(easy, CURLINFO_TLS_SSL_PTR, &session) && session && session->internals &&
      session->backend == CURLSSLBACKEND_OPENSSL) {
    const unsigned char *protocol = NULL;
    unsigned int length = 0;
    SSL_get0_alpn_selected(session->internals, &protocol, &length);
    // HTTP/2 sends frames whenever it likes.
    if (length == 2 && protocol[0] == 'h' && protocol[1] == '2') return false;
  }
  if (!is_bound_to(socket, local_port)) return false;
  char byte;
  return recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0;
}

const char *clastro_openssl_version(void) { return OpenSSL_version(OPENSSL_VERSION); }
