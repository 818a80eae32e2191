// SPDX-License-Identifier: Apache-2.0
#include "required_headers.h"

#include <errno.h>
#include <limits.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "CLoopback.h"
#include "shared.h"

struct identity {
  char *name;
  X509 *leaf;
  STACK_OF(X509) *chain;
  EVP_PKEY *key;
};

struct cloopback_tls_context {
  SSL_CTX *context;
  uint8_t *alpn;
  size_t alpn_length;
  uint8_t *staple;
  size_t staple_length;
  struct identity *identities;
  size_t identity_count;
};

static int protocol_version(int version) {
  switch (version) {
    case 0: return TLS1_VERSION;
    case 1: return TLS1_1_VERSION;
    case 2: return TLS1_2_VERSION;
    default: return TLS1_3_VERSION;
  }
}

static int select_alpn(SSL *ssl, const unsigned char **out, unsigned char *out_length, const unsigned char *offered,
                       unsigned int offered_length, void *argument) {
  (void)ssl;
  const cloopback_tls_context *context = argument;
  unsigned char *selected = NULL;
  int outcome = SSL_select_next_proto(&selected, out_length, context->alpn, (unsigned int)context->alpn_length,
                                      offered, offered_length);
  if (outcome != OPENSSL_NPN_NEGOTIATED) return SSL_TLSEXT_ERR_NOACK;
  *out = selected;
  return SSL_TLSEXT_ERR_OK;
}

bool cloopback_use_identity(SSL_CTX *context, const char *chain_pem, const char *key_pem) {
  STACK_OF(X509) *chain = cloopback_read_certificates(chain_pem);
  EVP_PKEY *key = cloopback_read_key(key_pem);
  bool good = chain && key;
  if (good) {
    // Send only the certificates of the chain, even if the store could add others.
    SSL_CTX_set_mode(context, SSL_MODE_NO_AUTO_CHAIN);
    X509 *leaf = sk_X509_shift(chain);
    good = SSL_CTX_use_cert_and_key(context, leaf, key, chain, 1) == 1;
    X509_free(leaf);
  }
  sk_X509_pop_free(chain, X509_free);
  EVP_PKEY_free(key);
  return good;
}

static int select_identity(SSL *ssl, void *argument) {
  const cloopback_tls_context *context = argument;
  const char *name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
  for (size_t index = 0; name && index < context->identity_count; index++) {
    const struct identity *identity = &context->identities[index];
    if (strcasecmp(identity->name, name) == 0) {
      // Without this, a key of another type would be added to the existing one, and the client would choose.
      SSL_certs_clear(ssl);
      return SSL_use_cert_and_key(ssl, identity->leaf, identity->key, identity->chain, 1);
    }
  }
  return 1;
}

static bool copy_identities(cloopback_tls_context *made, const cloopback_tls_options *options) {
  if (options->name_count == 0) return true;
  made->identities = calloc(options->name_count, sizeof *made->identities);
  if (!made->identities) return false;
  for (size_t index = 0; index < options->name_count; index++) {
    struct identity *identity = &made->identities[index];
    made->identity_count++;
    identity->name = strdup(options->names[index]);
    identity->chain = cloopback_read_certificates(options->name_chains_pem[index]);
    identity->key = cloopback_read_key(options->name_keys_pem[index]);
    if (identity->chain) identity->leaf = sk_X509_shift(identity->chain);
    if (!identity->name || !identity->leaf || !identity->key) return false;
    if (X509_check_private_key(identity->leaf, identity->key) != 1) return false;
  }
  SSL_CTX_set_cert_cb(made->context, select_identity, made);
  return true;
}

static int send_staple(SSL *ssl, void *argument) {
  const cloopback_tls_context *context = argument;
  unsigned char *copy = OPENSSL_memdup(context->staple, context->staple_length);
  if (!copy) return SSL_TLSEXT_ERR_ALERT_FATAL;
  // The connection frees the copy.
  SSL_set_tlsext_status_ocsp_resp(ssl, copy, (long)context->staple_length);
  return SSL_TLSEXT_ERR_OK;
}

static bool copy_staple(cloopback_tls_context *made, const cloopback_tls_options *options) {
  if (options->staple_length == 0) return true;
  made->staple = malloc(options->staple_length);
  if (!made->staple) return false;
  memcpy(made->staple, options->staple, options->staple_length);
  made->staple_length = options->staple_length;
  SSL_CTX_set_tlsext_status_cb(made->context, send_staple);
  SSL_CTX_set_tlsext_status_arg(made->context, made);
  return true;
}

static bool require_client(SSL_CTX *context, const char *authorities_pem) {
  STACK_OF(X509) *authorities = cloopback_read_certificates(authorities_pem);
  if (!authorities) return false;
  for (int index = 0; index < sk_X509_num(authorities); index++) {
    X509 *authority = sk_X509_value(authorities, index);
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context), authority);
    SSL_CTX_add_client_CA(context, authority);
  }
  sk_X509_pop_free(authorities, X509_free);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
  return true;
}

static bool copy_alpn(cloopback_tls_context *made, const cloopback_tls_options *options) {
  if (options->alpn_length == 0) return true;
  made->alpn = malloc(options->alpn_length);
  if (!made->alpn) return false;
  memcpy(made->alpn, options->alpn, options->alpn_length);
  made->alpn_length = options->alpn_length;
  SSL_CTX_set_alpn_select_cb(made->context, select_alpn, made);
  return true;
}

static bool configure(cloopback_tls_context *made, const cloopback_tls_options *options) {
  SSL_CTX *context = made->context;
  // Some tests need old protocols and weak keys. The client decides what it accepts.
  SSL_CTX_set_security_level(context, 0);
  static const unsigned char session_context[] = "loopback";
  bool good = SSL_CTX_set_min_proto_version(context, protocol_version(options->minimum_version))
              && SSL_CTX_set_max_proto_version(context, protocol_version(options->maximum_version))
              && SSL_CTX_set_session_id_context(context, session_context, sizeof session_context - 1)
              && cloopback_use_identity(context, options->chain_pem, options->key_pem) && copy_identities(made, options) && copy_alpn(made, options)
              && copy_staple(made, options)
              && (!options->client_authorities_pem || require_client(context, options->client_authorities_pem));
  if (!options->allows_resumption) {
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_options(context, SSL_OP_NO_TICKET);
    SSL_CTX_set_num_tickets(context, 0);
  }
  return good;
}

cloopback_tls_context *cloopback_tls_context_new(const cloopback_tls_options *options, char *error) {
  cloopback_tls_context *made = calloc(1, sizeof *made);
  if (made) made->context = SSL_CTX_new(TLS_server_method());
  if (made && made->context && configure(made, options)) return made;
  cloopback_explain(error, "the TLS server cannot be set up");
  if (made) cloopback_tls_context_free(made);
  return NULL;
}

bool cloopback_tls_context_share_tickets(cloopback_tls_context *from, cloopback_tls_context *to) {
  // Without a buffer, OpenSSL returns the length of the keys.
  long length = SSL_CTX_get_tlsext_ticket_keys(from->context, NULL, 0);
  unsigned char keys[128];
  if (length <= 0 || (size_t)length > sizeof keys) return false;
  return SSL_CTX_get_tlsext_ticket_keys(from->context, keys, length) == 1
         && SSL_CTX_set_tlsext_ticket_keys(to->context, keys, length) == 1;
}

void cloopback_tls_context_free(cloopback_tls_context *context) {
  SSL_CTX_free(context->context);
  for (size_t index = 0; index < context->identity_count; index++) {
    free(context->identities[index].name);
    X509_free(context->identities[index].leaf);
    sk_X509_pop_free(context->identities[index].chain, X509_free);
    EVP_PKEY_free(context->identities[index].key);
  }
  free(context->identities);
  free(context->staple);
  free(context->alpn);
  free(context);
}

bool cloopback_was_interrupted(const SSL *ssl, int result) {
  if (result > 0 || errno != EINTR) return false;
  int problem = SSL_get_error(ssl, result);
  return problem == SSL_ERROR_WANT_READ || problem == SSL_ERROR_WANT_WRITE;
}

int cloopback_uninterrupted(SSL *ssl, int (*call)(SSL *)) {
  int result;
  do {
    errno = 0;
    result = call(ssl);
  } while (cloopback_was_interrupted(ssl, result));
  return result;
}

cloopback_tls *cloopback_tls_accept(cloopback_tls_context *context, int descriptor, char *error) {
  ERR_clear_error();
  cloopback_tls *tls = calloc(1, sizeof *tls);
  if (tls) tls->ssl = SSL_new(context->context);
  bool good = tls && tls->ssl && SSL_set_fd(tls->ssl, descriptor) == 1;
  if (good && cloopback_uninterrupted(tls->ssl, SSL_accept) == 1) return tls;
  cloopback_explain(error, "the TLS handshake failed");
  if (tls) cloopback_tls_free(tls);
  return NULL;
}

ssize_t cloopback_tls_read(cloopback_tls *tls, void *buffer, size_t count) {
  ERR_clear_error();
  bool held = cloopback_hold_pipe_signal();
  int got;
  do {
    errno = 0;
    got = SSL_read(tls->ssl, buffer, count > INT_MAX ? INT_MAX : (int)count);
  } while (cloopback_was_interrupted(tls->ssl, got));
  int system_error = errno;
  cloopback_release_pipe_signal(held);
  if (got > 0) return got;
  int problem = SSL_get_error(tls->ssl, got);
  bool cut = problem == SSL_ERROR_SSL && ERR_GET_REASON(ERR_peek_last_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING;
  ERR_clear_error();
  if (problem == SSL_ERROR_ZERO_RETURN) return 0;
  if (cut) return CLOOPBACK_READ_TRUNCATED;
  return problem == SSL_ERROR_SYSCALL && system_error == ECONNRESET ? CLOOPBACK_READ_RESET : CLOOPBACK_READ_FAILED;
}

ssize_t cloopback_tls_write(cloopback_tls *tls, const void *buffer, size_t count) {
  ERR_clear_error();
  size_t written = 0;
  while (written < count) {
    size_t left = count - written;
    bool held = cloopback_hold_pipe_signal();
    int put;
    do {
      errno = 0;
      put = SSL_write(tls->ssl, (const char *)buffer + written, left > INT_MAX ? INT_MAX : (int)left);
    } while (cloopback_was_interrupted(tls->ssl, put));
    cloopback_release_pipe_signal(held);
    if (put <= 0) {
      ERR_clear_error();
      return -1;
    }
    written += (size_t)put;
  }
  return (ssize_t)written;
}

bool cloopback_tls_send_message(cloopback_tls *tls, bool is_ticket) {
  ERR_clear_error();
  bool held = cloopback_hold_pipe_signal();
  int queued = is_ticket ? SSL_new_session_ticket(tls->ssl) : SSL_key_update(tls->ssl, SSL_KEY_UPDATE_NOT_REQUESTED);
  bool good = queued == 1 && cloopback_uninterrupted(tls->ssl, SSL_do_handshake) == 1;
  // OpenSSL reports success even if the client is gone and the ticket did not reach it.
  good = good && send(SSL_get_fd(tls->ssl), "", 0, MSG_NOSIGNAL) == 0;
  cloopback_release_pipe_signal(held);
  ERR_clear_error();
  return good;
}

void cloopback_tls_close_notify(cloopback_tls *tls) {
  ERR_clear_error();
  bool held = cloopback_hold_pipe_signal();
  cloopback_uninterrupted(tls->ssl, SSL_shutdown);
  cloopback_release_pipe_signal(held);
  ERR_clear_error();
}

void cloopback_tls_free(cloopback_tls *tls) {
  SSL_free(tls->ssl);
  free(tls);
}

const char *cloopback_tls_version(const cloopback_tls *tls) { return SSL_get_version(tls->ssl); }

bool cloopback_tls_resumed(const cloopback_tls *tls) { return SSL_session_reused(tls->ssl) == 1; }

const char *cloopback_tls_server_name(const cloopback_tls *tls) {
  return SSL_get_servername(tls->ssl, TLSEXT_NAMETYPE_host_name);
}

size_t cloopback_tls_alpn(const cloopback_tls *tls, const uint8_t **protocol) {
  unsigned int length = 0;
  SSL_get0_alpn_selected(tls->ssl, protocol, &length);
  return length;
}

char *cloopback_tls_client_name(const cloopback_tls *tls) {
  X509 *certificate = SSL_get0_peer_certificate(tls->ssl);
  if (!certificate) return NULL;
  X509_NAME *subject = X509_get_subject_name(certificate);
  int index = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  if (index < 0) return NULL;
  unsigned char *text = NULL;
  int length = ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, index)));
  char *name = length >= 0 ? strndup((const char *)text, (size_t)length) : NULL;
  OPENSSL_free(text);
  return name;
}
