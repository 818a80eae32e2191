// SPDX-License-Identifier: Apache-2.0
#include "required_headers.h"

#include <errno.h>
#include <limits.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>

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
  // The numbers of TLS 1.0 to 1.3 follow one another.
  bool good = SSL_CTX_set_min_proto_version(context, TLS1_VERSION + options->minimum_version)
              && SSL_CTX_set_max_proto_version(context, TLS1_VERSION + options->maximum_version)
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

// The process must not be killed because a peer has closed its connection. On threads that we did not start, SIGPIPE is
// blocked during a write, and a pending one is consumed.

// Blocks SIGPIPE on the calling thread, for OpenSSL's write(2). Returns whether it was not blocked before.
static bool hold_pipe_signal(void) {
  sigset_t pipe, before;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  return pthread_sigmask(SIG_BLOCK, &pipe, &before) == 0 && !sigismember(&before, SIGPIPE);
}

// If `held` is true, consumes a pending SIGPIPE and unblocks the signal. Pass the result of hold_pipe_signal().
static void release_pipe_signal(bool held) {
  if (!held) return;
  sigset_t pipe;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  struct timespec now = {0, 0};
  while (sigtimedwait(&pipe, NULL, &now) == SIGPIPE) continue;
  pthread_sigmask(SIG_UNBLOCK, &pipe, NULL);
}

// Returns whether a call of OpenSSL on a blocking socket failed only because a signal interrupted it. The call must be
// made again with the same arguments. Set errno to 0 before the call, and ask directly after it.
static bool was_interrupted(const SSL *ssl, int result) {
  if (result > 0 || errno != EINTR) return false;
  int problem = SSL_get_error(ssl, result);
  return problem == SSL_ERROR_WANT_READ || problem == SSL_ERROR_WANT_WRITE;
}

int cloopback_uninterrupted(SSL *ssl, int (*call)(SSL *)) {
  bool held = hold_pipe_signal();
  int result;
  do {
    errno = 0;
    result = call(ssl);
  } while (was_interrupted(ssl, result));
  release_pipe_signal(held);
  return result;
}

cloopback_tls *cloopback_tls_accept(cloopback_tls_context *context, int descriptor, char *error) {
  ERR_clear_error();
  SSL *ssl = SSL_new(context->context);
  if (ssl && SSL_set_fd(ssl, descriptor) == 1 && cloopback_uninterrupted(ssl, SSL_accept) == 1) return ssl;
  cloopback_explain(error, "the TLS handshake failed");
  SSL_free(ssl);
  return NULL;
}

ssize_t cloopback_tls_read(cloopback_tls *tls, void *buffer, size_t count) {
  ERR_clear_error();
  bool held = hold_pipe_signal();
  int got;
  do {
    errno = 0;
    got = SSL_read(tls, buffer, count > INT_MAX ? INT_MAX : (int)count);
  } while (was_interrupted(tls, got));
  int system_error = errno;
  release_pipe_signal(held);
  if (got > 0) return got;
  int problem = SSL_get_error(tls, got);
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
    bool held = hold_pipe_signal();
    int put;
    do {
      errno = 0;
      put = SSL_write(tls, (const char *)buffer + written, left > INT_MAX ? INT_MAX : (int)left);
    } while (was_interrupted(tls, put));
    release_pipe_signal(held);
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
  int queued = is_ticket ? SSL_new_session_ticket(tls) : SSL_key_update(tls, SSL_KEY_UPDATE_NOT_REQUESTED);
  bool good = queued == 1 && cloopback_uninterrupted(tls, SSL_do_handshake) == 1;
  // OpenSSL reports success even if the client is gone and the ticket did not reach it.
  good = good && send(SSL_get_fd(tls), "", 0, MSG_NOSIGNAL) == 0;
  ERR_clear_error();
  return good;
}

void cloopback_tls_close_notify(cloopback_tls *tls) {
  ERR_clear_error();
  cloopback_uninterrupted(tls, SSL_shutdown);
  ERR_clear_error();
}

void cloopback_tls_free(cloopback_tls *tls) { SSL_free(tls); }

const char *cloopback_tls_version(const cloopback_tls *tls) { return SSL_get_version(tls); }

bool cloopback_tls_resumed(const cloopback_tls *tls) { return SSL_session_reused(tls) == 1; }

const char *cloopback_tls_server_name(const cloopback_tls *tls) {
  return SSL_get_servername(tls, TLSEXT_NAMETYPE_host_name);
}

size_t cloopback_tls_alpn(const cloopback_tls *tls, const uint8_t **protocol) {
  unsigned int length = 0;
  SSL_get0_alpn_selected(tls, protocol, &length);
  return length;
}

char *cloopback_tls_client_name(const cloopback_tls *tls) {
  X509 *certificate = SSL_get0_peer_certificate(tls);
  if (!certificate) return NULL;
  X509_NAME *subject = X509_get_subject_name(certificate);
  int index = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  if (index < 0) return NULL;
  unsigned char *text = NULL;
  int length = ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, index)));
  return length >= 0 ? (char *)text : NULL;
}
