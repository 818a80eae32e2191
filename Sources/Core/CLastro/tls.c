// SPDX-License-Identifier: Apache-2.0
#include "CLastro.h"

#include <limits.h>
#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "tls_session.h"

clastro_roots *clastro_roots_new(void) {
  clastro_roots *roots = X509_STORE_new();
  // Like libcurl by default, accept a chain that ends at a trusted intermediate.
  if (roots) X509_STORE_set_flags(roots, X509_V_FLAG_PARTIAL_CHAIN | X509_V_FLAG_TRUSTED_FIRST);
  return roots;
}

int clastro_roots_add(clastro_roots *roots, const char *pem, size_t length) {
  if (length > INT_MAX) return -1;
  ERR_set_mark();
  BIO *bio = BIO_new_mem_buf(pem, (int)length);
  int count = 0;
  X509 *certificate;
  while (bio && (certificate = PEM_read_bio_X509_AUX(bio, NULL, clastro_give_password, NULL))) {
    if (X509_STORE_add_cert(roots, certificate) == 1) count++;
    X509_free(certificate);
  }
  // OpenSSL reports the end of the text as "no start line".
  bool is_end = bio && ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  BIO_free(bio);
  ERR_pop_to_mark();
  return is_end ? count : -1;
}

void clastro_roots_free(clastro_roots *roots) { X509_STORE_free(roots); }

struct clastro_connection {
  atomic_int references;
  atomic_bool closed_cleanly;
  // Whether the server asked for a client certificate and there was none.
  bool asked_in_vain;
  // The session, set when its handshake begins. It is valid as long as libcurl holds the connection.
  SSL *ssl;
  // The number of the loop's turn in which the connection last read, and the bytes counted in that turn.
  uint64_t read_turn;
  size_t read_bytes;
  // The rules. `roots` and `host` may be used only while the connection is made.
  clastro_connection_rules rules;
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

// Limits the bytes that a connection reads in one turn of the loop. OpenSSL calls this function before and after every
// operation of libcurl's BIO, which reads the socket. When the turn's bytes are used up, the function makes the read
// fail like that of an empty socket. OpenSSL holds no whole record at that point, and level-triggered epoll wakes the
// loop again.
static long limit_input(
  BIO *bio, int operation, const char *buffer, size_t length, int command, long argument, int result, size_t *count) {
  (void)buffer, (void)length, (void)command, (void)argument;
  if ((operation & ~BIO_CB_RETURN) != BIO_CB_READ) return result;
  clastro_connection *connection = (clastro_connection *)BIO_get_callback_arg(bio);
  if (operation & BIO_CB_RETURN) {
    connection->read_bytes += CLASTRO_READ_BYTES + (result > 0 && count ? *count : 0);
    return result;
  }
  if (connection->read_turn != connection->rules.turn->number) {
    connection->read_turn = connection->rules.turn->number;
    connection->read_bytes = 0;
  }
  if (connection->read_bytes < connection->rules.turn->bytes) return result;
  BIO_clear_retry_flags(bio);
  BIO_set_retry_read(bio);
  return -1;
}

static void begin_session(clastro_connection *connection, SSL *ssl) {
  connection->ssl = ssl;
  BIO *input = connection->rules.turn ? SSL_get_rbio(ssl) : NULL;
  if (!input) return;
  BIO_set_callback_arg(input, (char *)connection);
  BIO_set_callback_ex(input, limit_input);
}

static void watch_session(const SSL *ssl, int where, int value) {
  clastro_connection *connection = connection_of(ssl);
  if (!connection) return;
  if (where & SSL_CB_HANDSHAKE_START) begin_session(connection, (SSL *)ssl);
  if (SSL_get_state(ssl) == TLS_ST_CR_CERT_REQ) connection->asked_in_vain = !SSL_get_certificate(ssl);
  if ((where & SSL_CB_READ_ALERT) != SSL_CB_READ_ALERT) return;
  if ((value & 0xff) == SSL_AD_CLOSE_NOTIFY) {
    atomic_store(&connection->closed_cleanly, true);
  } else if ((value >> 8) == SSL3_AL_FATAL) {
    connection->rules.hear_alert(connection->rules.owner, value & 0xff, connection->asked_in_vain);
  }
}

static void log_key(const SSL *ssl, const char *line) {
  clastro_connection *connection = connection_of(ssl);
  if (connection && connection->rules.log_key) connection->rules.log_key(connection->rules.owner, line);
}

bool clastro_describe(X509 *certificate, clastro_peer_certificate *out) {
  unsigned char *der = NULL, *key = NULL;
  int length = i2d_X509(certificate, &der);
  int key_length = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &key);
  bool good = length > 0 && key_length > 0 &&
              EVP_Digest(key, (size_t)key_length, out->pin, NULL, EVP_sha256(), NULL) == 1;
  OPENSSL_free(key);
  out->der = der;
  out->length = good ? (size_t)length : 0;
  return good;
}

static bool is_in(X509 *certificate, STACK_OF(X509) *chain) {
  for (int index = 0; index < sk_X509_num(chain); index++) {
    if (X509_cmp(certificate, sk_X509_value(chain, index)) == 0) return true;
  }
  return false;
}

// Passes the chain and the other certificates that the peer sent to the owner, and returns its verdict. With
// `judges_presented` the chain is the one that was sent, otherwise the verified one.
static bool is_accepted(clastro_connection *connection, X509_STORE_CTX *verification) {
  STACK_OF(X509) *chain = X509_STORE_CTX_get0_chain(verification);
  STACK_OF(X509) *sent = X509_STORE_CTX_get0_untrusted(verification);
  if (connection->rules.judges_presented) chain = sent;
  int chain_count = chain ? sk_X509_num(chain) : 0, sent_count = sent ? sk_X509_num(sent) : 0;
  if (chain_count <= 0) return false;
  clastro_peer_certificate *certificates =
    calloc((size_t)chain_count + (size_t)(sent_count > 0 ? sent_count : 0), sizeof *certificates);
  if (!certificates) return false;
  size_t count = 0;
  bool good = true;
  for (int index = 0; good && index < chain_count; index++) {
    good = clastro_describe(sk_X509_value(chain, index), &certificates[count++]);
  }
  for (int index = 0; good && index < sent_count; index++) {
    X509 *certificate = sk_X509_value(sent, index);
    if (!is_in(certificate, chain)) good = clastro_describe(certificate, &certificates[count++]);
  }
  good = good && connection->rules.accept(connection->rules.owner, certificates, (size_t)chain_count, count);
  for (size_t index = 0; index < count; index++) OPENSSL_free((void *)certificates[index].der);
  free(certificates);
  return good;
}

// Reports a rejected chain to the owner. The owner cannot accept a chain that OpenSSL rejects.
static void tell_refusal(clastro_connection *connection, X509_STORE_CTX *verification) {
  // libcurl reads the oldest error in the queue, which must be OpenSSL's own error about this verdict.
  ERR_set_mark();
  X509 *faulty = X509_STORE_CTX_get_current_cert(verification);
  clastro_peer_certificate certificate = {0};
  bool good = faulty && clastro_describe(faulty, &certificate);
  connection->rules.reject(
    connection->rules.owner, X509_STORE_CTX_get_error(verification), good ? &certificate : NULL,
    X509_STORE_CTX_get_error_depth(verification));
  OPENSSL_free((void *)certificate.der);
  ERR_pop_to_mark();
}

static int verify_chain(X509_STORE_CTX *verification, void *argument) {
  clastro_connection *connection = argument;
  int verdict = connection->rules.judges_presented ? connection->rules.accept != NULL : X509_verify_cert(verification);
  if (verdict != 1) tell_refusal(connection, verification);
  if (verdict != 1 || !connection->rules.accept) return verdict;
  // libcurl reads the oldest error in the queue, which must be OpenSSL's own error about this verdict.
  ERR_set_mark();
  bool good = is_accepted(connection, verification);
  ERR_pop_to_mark();
  if (good && connection->rules.judges_presented) X509_STORE_CTX_set_error(verification, X509_V_OK);
  if (good) return 1;
  X509_STORE_CTX_set_error(verification, X509_V_ERR_APPLICATION_VERIFICATION);
  return 0;
}

CURLcode clastro_install_context_hook(CURL *easy, clastro_context_callback prepare, void *transfer) {
  pthread_once(&connection_index_once, make_connection_index);
  if (connection_index < 0) return CURLE_OUT_OF_MEMORY;
  CURLcode code = curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, prepare);
  return code ? code : curl_easy_setopt(easy, CURLOPT_SSL_CTX_DATA, transfer);
}

// An option that libcurl clears unless CURLSSLOPT_ALLOW_BEAST is set. It affects only CBC ciphers in TLS 1.0.
static const uint64_t proxy_mark = SSL_OP_DONT_INSERT_EMPTY_FRAGMENTS;

void clastro_mark_proxy_contexts(CURL *easy) {
  curl_easy_setopt(easy, CURLOPT_PROXY_SSL_OPTIONS, (long)CURLSSLOPT_ALLOW_BEAST);
}

bool clastro_context_takes_proxy_mark(void *context) {
  bool is_marked = (SSL_CTX_get_options(context) & proxy_mark) != 0;
  SSL_CTX_clear_options(context, proxy_mark);
  return is_marked;
}

bool clastro_proxy_mark_is_telling(void) {
  SSL_CTX *context = SSL_CTX_new(TLS_client_method());
  bool is_telling = context && (SSL_CTX_get_options(context) & proxy_mark) == 0;
  SSL_CTX_free(context);
  return is_telling;
}

static clastro_connection *make_connection(const clastro_connection_rules *rules) {
  clastro_connection *connection = calloc(1, sizeof *connection);
  if (!connection) {
    rules->release(rules->owner);
    return NULL;
  }
  atomic_init(&connection->references, 1);
  atomic_init(&connection->closed_cleanly, false);
  connection->rules = *rules;
  return connection;
}

// Requires that the certificate match the host, by its subject alternative names only (RFC 9525 §2).
static bool set_host(X509_VERIFY_PARAM *parameters, const clastro_connection_rules *rules) {
  if (rules->host_is_address) return X509_VERIFY_PARAM_set1_ip_asc(parameters, rules->host) == 1;
  X509_VERIFY_PARAM_set_hostflags(
    parameters, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
  return X509_VERIFY_PARAM_set1_host(parameters, rules->host, 0) == 1;
}

bool clastro_context_apply(void *context, const clastro_connection_rules *rules) {
  pthread_once(&connection_index_once, make_connection_index);
  clastro_connection *connection = make_connection(rules);
  if (!connection) return false;
  if (SSL_CTX_set_ex_data(context, connection_index, connection) != 1) {
    clastro_connection_release(connection);
    return false;
  }
  X509_VERIFY_PARAM *parameters = SSL_CTX_get0_param(context);
  ERR_set_mark();
  bool good = rules->judges_presented || set_host(parameters, rules);
  ERR_pop_to_mark();
  if (!good) return false;
  if (rules->is_strict) X509_VERIFY_PARAM_set_flags(parameters, X509_V_FLAG_X509_STRICT);
  // Set the verify store: libcurl replaces the context's certificate store once the handshake has begun.
  if (SSL_CTX_set1_verify_cert_store(context, rules->roots) != 1) return false;
  if (rules->shows_roots_to_curl) SSL_CTX_set1_cert_store(context, rules->roots);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
  SSL_CTX_set_cert_verify_callback(context, verify_chain, connection);
  SSL_CTX_set_info_callback(context, watch_session);
  SSL_CTX_set_keylog_callback(context, rules->log_key ? log_key : NULL);
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION);
  if (!rules->allows_resumption) {
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_sess_set_new_cb(context, NULL);
  }
  return true;
}

SSL *clastro_tls_of(CURL *easy) {
  struct curl_tlssessioninfo *session = NULL;
  if (curl_easy_getinfo(easy, CURLINFO_TLS_SSL_PTR, &session) || !session) return NULL;
  return session->backend == CURLSSLBACKEND_OPENSSL ? session->internals : NULL;
}

SSL *clastro_session_of_context(void *context) {
  clastro_connection *connection = SSL_CTX_get_ex_data(context, connection_index);
  return connection ? connection->ssl : NULL;
}

clastro_connection *clastro_connection_retain(CURL *easy) {
  clastro_connection *connection = connection_of(clastro_tls_of(easy));
  if (connection) atomic_fetch_add(&connection->references, 1);
  return connection;
}

void clastro_connection_release(clastro_connection *connection) {
  if (atomic_fetch_sub(&connection->references, 1) != 1) return;
  connection->rules.release(connection->rules.owner);
  free(connection);
}

bool clastro_connection_is_ready(CURL *easy) {
  SSL *ssl = clastro_tls_of(easy);
  return ssl && SSL_is_init_finished(ssl);
}

void *clastro_connection_owner(const clastro_connection *connection) { return connection->rules.owner; }

bool clastro_connection_closed_cleanly(const clastro_connection *connection) {
  return atomic_load(&connection->closed_cleanly);
}
