// SPDX-License-Identifier: Apache-2.0
#include "required_headers.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "CLoopbackClient.h"
#include "shared.h"

static SSL_CTX *client_context(const cloopback_tls_client_options *options) {
  SSL_CTX *context = SSL_CTX_new(TLS_client_method());
  STACK_OF(X509) *roots = cloopback_read_certificates(options->roots_pem);
  bool good = context && roots;
  if (good) {
    SSL_CTX_set_security_level(context, 0);
    SSL_CTX_set_min_proto_version(context, TLS1_VERSION);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    for (int index = 0; index < sk_X509_num(roots); index++) {
      X509_STORE_add_cert(SSL_CTX_get_cert_store(context), sk_X509_value(roots, index));
    }
    if (options->chain_pem && options->key_pem) {
      good = cloopback_use_identity(context, options->chain_pem, options->key_pem);
    }
  }
  sk_X509_pop_free(roots, X509_free);
  if (good) return context;
  SSL_CTX_free(context);
  return NULL;
}

static bool set_up(SSL *ssl, const cloopback_tls_client_options *options) {
  bool good = true;
  if (!X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), options->host)) {
    ERR_clear_error();
    good = SSL_set1_host(ssl, options->host) == 1 && SSL_set_tlsext_host_name(ssl, options->host) == 1;
  }
  if (good && options->alpn_length > 0) {
    good = SSL_set_alpn_protos(ssl, options->alpn, (unsigned int)options->alpn_length) == 0;
  }
  if (good && options->session) good = SSL_set_session(ssl, (SSL_SESSION *)options->session) == 1;
  if (good && options->asks_staple) good = SSL_set_tlsext_status_type(ssl, TLSEXT_STATUSTYPE_ocsp) == 1;
  return good;
}

cloopback_tls *cloopback_tls_connect(int descriptor, const cloopback_tls_client_options *options, char *error) {
  ERR_clear_error();
  SSL_CTX *context = client_context(options);
  SSL *ssl = context ? SSL_new(context) : NULL;
  SSL_CTX_free(context);
  bool good = ssl && SSL_set_fd(ssl, descriptor) == 1 && set_up(ssl, options);
  if (good && cloopback_uninterrupted(ssl, SSL_connect) == 1) return ssl;
  cloopback_explain(error, "the TLS handshake failed");
  SSL_free(ssl);
  return NULL;
}

cloopback_tls_session *cloopback_tls_session_keep(cloopback_tls *tls) {
  return (cloopback_tls_session *)SSL_get1_session(tls);
}

void cloopback_tls_session_free(cloopback_tls_session *session) { SSL_SESSION_free((SSL_SESSION *)session); }

size_t cloopback_tls_staple(const cloopback_tls *tls, const uint8_t **response) {
  const unsigned char *bytes = NULL;
  long length = SSL_get_tlsext_status_ocsp_resp((SSL *)tls, &bytes);
  *response = bytes;
  return length > 0 && bytes ? (size_t)length : 0;
}

size_t cloopback_tls_peer_chain(const cloopback_tls *tls, cloopback_certificate_callback found, void *context) {
  STACK_OF(X509) *chain = SSL_get_peer_cert_chain(tls);
  int count = chain ? sk_X509_num(chain) : 0;
  for (int index = 0; index < count; index++) {
    unsigned char *der = NULL;
    int length = i2d_X509(sk_X509_value(chain, index), &der);
    if (length > 0) found(context, der, (size_t)length);
    OPENSSL_free(der);
  }
  return (size_t)count;
}
