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
#include <stdlib.h>
#include <string.h>

// Gives OpenSSL the password of a PEM block; refuses if `password` is NULL. Without this callback OpenSSL would ask for
// the password on the terminal.
static int give_password(char *buffer, int size, int is_writing, void *password) {
  (void)is_writing;
  size_t length = password ? strlen(password) : 0;
  if (!password || size < 0 || length > (size_t)size) return -1;
  memcpy(buffer, password, length);
  return (int)length;
}

int clastro_roots_add(X509_STORE *roots, const uint8_t *pem, size_t length) {
  if (length > INT_MAX) return -1;
  ERR_set_mark();
  BIO *bio = BIO_new_mem_buf(pem, (int)length);
  int count = 0;
  X509 *certificate;
  while (bio && (certificate = PEM_read_bio_X509_AUX(bio, NULL, give_password, NULL))) {
    if (X509_STORE_add_cert(roots, certificate) == 1) count++;
    X509_free(certificate);
  }
  // OpenSSL reports the end of the text as "no start line".
  bool is_end = bio && ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  BIO_free(bio);
  ERR_pop_to_mark();
  return is_end ? count : -1;
}

// The record of one TLS connection. Its context owns it.
typedef struct {
  // Whether the server asked for a client certificate and there was none.
  bool asked_in_vain;
  // The session, set when its handshake begins. It is valid as long as libcurl holds the connection.
  SSL *ssl;
  // The number of the loop's turn in which the connection last read, and the bytes counted in that turn.
  uint64_t read_turn;
  size_t read_bytes;
  // The rules. `roots` and `host` may be used only while the connection is made.
  clastro_connection_rules rules;
} clastro_connection;

static int connection_index = -1;
static pthread_once_t connection_index_once = PTHREAD_ONCE_INIT;

static void free_connection(
  void *parent, void *pointer, CRYPTO_EX_DATA *data, int index, long argl, void *argp) {
  (void)parent, (void)data, (void)index, (void)argl, (void)argp;
  clastro_connection *connection = pointer;
  if (connection) connection->rules.release(connection->rules.owner);
  free(connection);
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
  int alert = value & 0xff;
  if (alert == SSL_AD_CLOSE_NOTIFY || (value >> 8) == SSL3_AL_FATAL) {
    connection->rules.hear_alert(connection->rules.owner, alert, connection->asked_in_vain);
  }
}

static void log_key(const SSL *ssl, const char *line) {
  clastro_connection *connection = connection_of(ssl);
  if (connection && connection->rules.log_key) connection->rules.log_key(connection->rules.owner, line);
}

static int verify_chain(X509_STORE_CTX *verification, void *argument) {
  const clastro_connection_rules *rules = &((clastro_connection *)argument)->rules;
  int verdict = rules->judges_presented ? rules->accept != NULL : X509_verify_cert(verification);
  // libcurl reads the oldest error in the queue, which must be OpenSSL's own error about this verdict.
  ERR_set_mark();
  if (verdict != 1) {
    // The owner cannot accept a chain that OpenSSL rejects.
    rules->reject(
      rules->owner, X509_STORE_CTX_get_error(verification), X509_STORE_CTX_get_current_cert(verification),
      X509_STORE_CTX_get_error_depth(verification));
  } else if (rules->accept && !rules->accept(rules->owner, verification)) {
    X509_STORE_CTX_set_error(verification, X509_V_ERR_APPLICATION_VERIFICATION);
    verdict = 0;
  } else if (rules->judges_presented) {
    X509_STORE_CTX_set_error(verification, X509_V_OK);
  }
  ERR_pop_to_mark();
  return verdict;
}

CURLcode clastro_install_context_hook(CURL *easy, curl_ssl_ctx_callback prepare, void *transfer) {
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

// Requires that the certificate match the host, by its subject alternative names only (RFC 9525 §2).
static bool set_host(X509_VERIFY_PARAM *parameters, const clastro_connection_rules *rules) {
  if (rules->host_is_address) return X509_VERIFY_PARAM_set1_ip_asc(parameters, rules->host) == 1;
  X509_VERIFY_PARAM_set_hostflags(
    parameters, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
  return X509_VERIFY_PARAM_set1_host(parameters, rules->host, 0) == 1;
}

bool clastro_context_apply(void *context, const clastro_connection_rules *rules) {
  pthread_once(&connection_index_once, make_connection_index);
  clastro_connection *connection = calloc(1, sizeof *connection);
  if (!connection || SSL_CTX_set_ex_data(context, connection_index, connection) != 1) {
    rules->release(rules->owner);
    free(connection);
    return false;
  }
  connection->rules = *rules;
  X509_VERIFY_PARAM *parameters = SSL_CTX_get0_param(context);
  ERR_set_mark();
  bool is_named = !rules->judges_presented && !rules->skips_host;
  bool good = is_named ? set_host(parameters, rules) : rules->accept != NULL;
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

void *clastro_owner_of(CURL *easy) {
  clastro_connection *connection = connection_of(clastro_tls_of(easy));
  return connection ? connection->rules.owner : NULL;
}

bool clastro_context_carry_stream(void *context, const uint8_t *alpn, size_t length) {
  SSL_CTX_set_mode(context, SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  if (length > UINT_MAX) return false;
  // Unlike most OpenSSL functions, SSL_CTX_set_alpn_protos returns 0 on success.
  return length == 0 || SSL_CTX_set_alpn_protos(context, alpn, (unsigned)length) == 0;
}

// Encrypts the input, or close_notify if `input` is NULL, and keeps the result from the session's socket, because
// libcurl's own BIO works only within calls to libcurl. Returns the number of bytes, or -1.
static ssize_t seal(SSL *ssl, const uint8_t *input, size_t length, uint8_t *bytes, size_t capacity) {
  BIO *memory = BIO_new(BIO_s_mem()), *own = SSL_get_wbio(ssl);
  if (!memory || !own || !BIO_up_ref(own)) {
    BIO_free(memory);
    return -1;
  }
  BIO_up_ref(memory);
  SSL_set0_wbio(ssl, memory);
  ERR_set_mark();
  bool good = input ? SSL_write(ssl, input, (int)length) == (int)length : SSL_shutdown(ssl) >= 0;
  ERR_pop_to_mark();
  SSL_set0_wbio(ssl, own);
  char *written = NULL;
  long count = BIO_get_mem_data(memory, &written);
  if (count < 0 || (size_t)count > capacity) good = false;
  if (good && count > 0) memcpy(bytes, written, (size_t)count);
  BIO_free(memory);
  return good ? count : -1;
}

ssize_t clastro_make_close_notify(CURL *easy, void *proxy_context, uint8_t *bytes, size_t capacity) {
  SSL *ssl = clastro_tls_of(easy);
  if (!ssl) return -1;
  if (!proxy_context) return seal(ssl, NULL, 0, bytes, capacity);
  clastro_connection *outer = SSL_CTX_get_ex_data(proxy_context, connection_index);
  SSL *proxy = outer ? outer->ssl : NULL;
  uint8_t alert[512];
  ssize_t length = proxy ? seal(ssl, NULL, 0, alert, sizeof alert) : -1;
  if (length <= 0) return length;
  return seal(proxy, alert, (size_t)length, bytes, capacity);
}

bool clastro_knows_cipher(const char *name, bool is_tls13) {
  ERR_set_mark();
  SSL_CTX *context = SSL_CTX_new(TLS_client_method());
  // A name that is unknown, or that stands for several ciphers, is not an error here. The check is whether the cipher
  // is in the list afterwards.
  if (context) is_tls13 ? SSL_CTX_set_ciphersuites(context, name) : SSL_CTX_set_cipher_list(context, name);
  STACK_OF(SSL_CIPHER) *ciphers = context ? SSL_CTX_get_ciphers(context) : NULL;
  bool knows = false;
  for (int index = 0; index < sk_SSL_CIPHER_num(ciphers); index++) {
    const SSL_CIPHER *cipher = sk_SSL_CIPHER_value(ciphers, index);
    bool is_of_tls13 = strcmp(SSL_CIPHER_get_version(cipher), "TLSv1.3") == 0;
    knows = knows || (is_of_tls13 == is_tls13 && strcmp(SSL_CIPHER_get_name(cipher), name) == 0);
  }
  SSL_CTX_free(context);
  ERR_pop_to_mark();
  return knows;
}

static bool use_chain(SSL_CTX *context, BIO *pem) {
  X509 *leaf = PEM_read_bio_X509_AUX(pem, NULL, give_password, NULL);
  bool good = leaf && SSL_CTX_use_certificate(context, leaf) == 1;
  X509_free(leaf);
  X509 *issuer;
  while (good && (issuer = PEM_read_bio_X509(pem, NULL, give_password, NULL))) {
    good = SSL_CTX_add0_chain_cert(context, issuer) == 1;
    if (!good) X509_free(issuer);
  }
  // OpenSSL reports the end of the text as "no start line".
  return good && ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
}

static bool use_key(SSL_CTX *context, BIO *pem, const char *password) {
  EVP_PKEY *key = PEM_read_bio_PrivateKey(pem, NULL, give_password, (void *)password);
  bool good = key && SSL_CTX_use_PrivateKey(context, key) == 1 && SSL_CTX_check_private_key(context) == 1;
  EVP_PKEY_free(key);
  return good;
}

bool clastro_context_set_identity(
  SSL_CTX *context, const uint8_t *chain, size_t chain_length, const uint8_t *key, size_t key_length,
  const char *password) {
  if (chain_length > INT_MAX || key_length > INT_MAX) return false;
  ERR_clear_error();
  BIO *chain_pem = BIO_new_mem_buf(chain, (int)chain_length), *key_pem = BIO_new_mem_buf(key, (int)key_length);
  bool good = chain_pem && key_pem && use_chain(context, chain_pem) && use_key(context, key_pem, password);
  BIO_free(chain_pem);
  BIO_free(key_pem);
  ERR_clear_error();
  return good;
}

SSL *clastro_tls_in_memory(SSL_CTX *context) {
  SSL *ssl = SSL_new(context);
  BIO *input = BIO_new(BIO_s_mem()), *output = BIO_new(BIO_s_mem());
  if (!ssl || !input || !output) {
    SSL_free(ssl);
    BIO_free(input);
    BIO_free(output);
    return NULL;
  }
  SSL_set_bio(ssl, input, output);
  return ssl;
}
