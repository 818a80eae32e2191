// SPDX-License-Identifier: Apache-2.0
#include "CLastro.h"

#include <limits.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <stdlib.h>
#include <string.h>

#include "tls_session.h"

void *clastro_nested_context_new(int minimum_version, int maximum_version) {
  static const int versions[] = {TLS1_VERSION, TLS1_1_VERSION, TLS1_2_VERSION, TLS1_3_VERSION};
  if (minimum_version < 0 || minimum_version > 3 || maximum_version < -1 || maximum_version > 3) return NULL;
  ERR_clear_error();
  SSL_CTX *context = SSL_CTX_new(TLS_client_method());
  if (context && (SSL_CTX_set_min_proto_version(context, versions[minimum_version]) != 1 ||
                  (maximum_version >= 0 && SSL_CTX_set_max_proto_version(context, versions[maximum_version]) != 1))) {
    SSL_CTX_free(context);
    context = NULL;
  }
  ERR_clear_error();
  return context;
}

void clastro_nested_context_free(void *context) { SSL_CTX_free(context); }

bool clastro_nested_context_set_ciphers(void *context, const char *legacy, const char *suites) {
  bool good = (!legacy || SSL_CTX_set_cipher_list(context, legacy) == 1) &&
              (!suites || SSL_CTX_set_ciphersuites(context, suites) == 1);
  ERR_clear_error();
  return good;
}

int clastro_give_password(char *buffer, int size, int is_writing, void *password) {
  (void)is_writing;
  size_t length = password ? strlen(password) : 0;
  if (!password || size < 0 || length > (size_t)size) return -1;
  memcpy(buffer, password, length);
  return (int)length;
}

static bool use_chain(SSL_CTX *context, BIO *pem) {
  X509 *leaf = PEM_read_bio_X509_AUX(pem, NULL, clastro_give_password, NULL);
  bool good = leaf && SSL_CTX_use_certificate(context, leaf) == 1;
  X509_free(leaf);
  X509 *issuer;
  while (good && (issuer = PEM_read_bio_X509(pem, NULL, clastro_give_password, NULL))) {
    good = SSL_CTX_add0_chain_cert(context, issuer) == 1;
    if (!good) X509_free(issuer);
  }
  // OpenSSL reports the end of the text as "no start line".
  return good && ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
}

static bool use_key(SSL_CTX *context, BIO *pem, const char *password) {
  EVP_PKEY *key = PEM_read_bio_PrivateKey(pem, NULL, clastro_give_password, (void *)password);
  bool good = key && SSL_CTX_use_PrivateKey(context, key) == 1 && SSL_CTX_check_private_key(context) == 1;
  EVP_PKEY_free(key);
  return good;
}

bool clastro_nested_context_set_identity(
  void *context, const char *chain, size_t chain_length, const char *key, size_t key_length, const char *password) {
  if (chain_length > INT_MAX || key_length > INT_MAX) return false;
  ERR_clear_error();
  BIO *chain_pem = BIO_new_mem_buf(chain, (int)chain_length), *key_pem = BIO_new_mem_buf(key, (int)key_length);
  bool good = chain_pem && key_pem && use_chain(context, chain_pem) && use_key(context, key_pem, password);
  BIO_free(chain_pem);
  BIO_free(key_pem);
  ERR_clear_error();
  return good;
}

struct clastro_session {
  SSL *ssl;
  bool input_ended;
  const char *failure;
};

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

clastro_session *clastro_session_new(void *context, const char *name) {
  ERR_clear_error();
  clastro_session *session = calloc(1, sizeof *session);
  if (!session) return NULL;
  session->ssl = clastro_tls_in_memory(context);
  bool good = session->ssl && (!name || SSL_set_tlsext_host_name(session->ssl, name) == 1);
  ERR_clear_error();
  if (!good) {
    clastro_session_free(session);
    return NULL;
  }
  SSL_set_connect_state(session->ssl);
  return session;
}

void clastro_session_free(clastro_session *session) {
  SSL_free(session->ssl);
  free(session);
}

static clastro_session_result result_of(clastro_session *session, int value) {
  int error = SSL_get_error(session->ssl, value);
  if (error == SSL_ERROR_WANT_READ && !session->input_ended) return CLASTRO_SESSION_NEEDS_INPUT;
  if (error == SSL_ERROR_ZERO_RETURN) return CLASTRO_SESSION_CLOSED;
  unsigned long code = ERR_peek_last_error();
  session->failure = code ? ERR_reason_error_string(code) : NULL;
  bool is_cut = session->input_ended &&
                (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_SYSCALL ||
                 ERR_GET_REASON(code) == SSL_R_UNEXPECTED_EOF_WHILE_READING);
  ERR_clear_error();
  return is_cut ? CLASTRO_SESSION_TRUNCATED : CLASTRO_SESSION_FAILED;
}

clastro_session_result clastro_session_handshake(clastro_session *session) {
  ERR_clear_error();
  int value = SSL_do_handshake(session->ssl);
  return value == 1 ? CLASTRO_SESSION_DONE : result_of(session, value);
}

clastro_session_result clastro_session_read(
  clastro_session *session, uint8_t *buffer, size_t capacity, size_t *count) {
  ERR_clear_error();
  int value = SSL_read_ex(session->ssl, buffer, capacity, count);
  return value == 1 ? CLASTRO_SESSION_DONE : result_of(session, value);
}

clastro_session_result clastro_session_write(clastro_session *session, const uint8_t *bytes, size_t count) {
  ERR_clear_error();
  size_t written = 0;
  int value = SSL_write_ex(session->ssl, bytes, count, &written);
  if (value != 1) return result_of(session, value);
  return written == count ? CLASTRO_SESSION_DONE : CLASTRO_SESSION_FAILED;
}

clastro_session_result clastro_session_close_notify(clastro_session *session) {
  ERR_clear_error();
  // 0 means that close_notify was sent and the peer's has not been received yet.
  int value = SSL_shutdown(session->ssl);
  return value >= 0 ? CLASTRO_SESSION_DONE : result_of(session, value);
}

bool clastro_session_feed(clastro_session *session, const uint8_t *bytes, size_t count) {
  return count <= INT_MAX && BIO_write(SSL_get_rbio(session->ssl), bytes, (int)count) == (int)count;
}

void clastro_session_end_input(clastro_session *session) {
  session->input_ended = true;
  BIO_set_mem_eof_return(SSL_get_rbio(session->ssl), 0);
}

size_t clastro_session_output_count(clastro_session *session) { return BIO_ctrl_pending(SSL_get_wbio(session->ssl)); }

size_t clastro_session_take_output(clastro_session *session, uint8_t *buffer, size_t capacity) {
  int count = BIO_read(SSL_get_wbio(session->ssl), buffer, capacity > INT_MAX ? INT_MAX : (int)capacity);
  return count > 0 ? (size_t)count : 0;
}

const char *clastro_session_failure(const clastro_session *session) { return session->failure; }

clastro_tls *clastro_session_tls(const clastro_session *session) { return session->ssl; }

bool clastro_session_is_resumed(const clastro_session *session) { return SSL_session_reused(session->ssl) == 1; }
