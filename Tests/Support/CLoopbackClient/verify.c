// SPDX-License-Identifier: Apache-2.0
#include "required_headers.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <stdio.h>

#include "CLoopbackClient.h"
#include "shared.h"

static bool set_host(X509_VERIFY_PARAM *parameters, const char *host) {
  if (X509_VERIFY_PARAM_set1_ip_asc(parameters, host)) return true;
  ERR_clear_error();
  return X509_VERIFY_PARAM_set1_host(parameters, host, 0) == 1;
}

static int verify(X509_STORE_CTX *context, X509_STORE *store, STACK_OF(X509) *chain, const char *host, int64_t at,
                  char *error) {
  if (!X509_STORE_CTX_init(context, store, sk_X509_value(chain, 0), chain)) {
    cloopback_explain(error, "verification cannot be set up");
    return -1;
  }
  X509_VERIFY_PARAM *parameters = X509_STORE_CTX_get0_param(context);
  X509_VERIFY_PARAM_set_time(parameters, (time_t)at);
  X509_VERIFY_PARAM_set_purpose(parameters, X509_PURPOSE_SSL_SERVER);
  if (host && !set_host(parameters, host)) {
    cloopback_explain(error, "the host is not a name");
    return -1;
  }
  if (X509_verify_cert(context) == 1) return X509_V_OK;
  int code = X509_STORE_CTX_get_error(context);
  snprintf(error, CLOOPBACK_ERROR_SIZE, "%s", X509_verify_cert_error_string(code));
  ERR_clear_error();
  return code;
}

int cloopback_verify(const char *chain_pem, const char *roots_pem, const char *host, int64_t at, char *error) {
  STACK_OF(X509) *chain = cloopback_read_certificates(chain_pem);
  STACK_OF(X509) *roots = cloopback_read_certificates(roots_pem);
  X509_STORE *store = X509_STORE_new();
  X509_STORE_CTX *context = X509_STORE_CTX_new();
  int code = -1;
  if (chain && roots && store && context) {
    for (int index = 0; index < sk_X509_num(roots); index++) {
      X509_STORE_add_cert(store, sk_X509_value(roots, index));
    }
    code = verify(context, store, chain, host, at, error);
  } else {
    cloopback_explain(error, "the certificates cannot be read");
  }
  X509_STORE_CTX_free(context);
  X509_STORE_free(store);
  sk_X509_pop_free(chain, X509_free);
  sk_X509_pop_free(roots, X509_free);
  return code;
}

bool cloopback_public_key_sha256(const char *certificate_pem, uint8_t *digest, char *error) {
  X509 *certificate = cloopback_read_certificate(certificate_pem);
  unsigned char *encoded = NULL;
  int length = certificate ? i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &encoded) : -1;
  bool good = length > 0 && EVP_Digest(encoded, (size_t)length, digest, NULL, EVP_sha256(), NULL) == 1;
  if (!good) cloopback_explain(error, "the certificate cannot be read");
  OPENSSL_free(encoded);
  X509_free(certificate);
  return good;
}
