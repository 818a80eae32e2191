// SPDX-License-Identifier: Apache-2.0
// OpenSSL's names and texts for alerts, verify results, ciphers and its own version.
#include "CLastro.h"

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <string.h>

const char *clastro_alert_text(int alert) { return SSL_alert_desc_string_long(alert); }

#define CHECK_VERIFY(own, theirs) _Static_assert((int)CLASTRO_VERIFY_##own == (int)X509_V_ERR_##theirs, #theirs)
CHECK_VERIFY(UNSPECIFIED, UNSPECIFIED);
CHECK_VERIFY(NO_ISSUER, UNABLE_TO_GET_ISSUER_CERT);
CHECK_VERIFY(NOT_YET_VALID, CERT_NOT_YET_VALID);
CHECK_VERIFY(EXPIRED, CERT_HAS_EXPIRED);
CHECK_VERIFY(SELF_SIGNED_LEAF, DEPTH_ZERO_SELF_SIGNED_CERT);
CHECK_VERIFY(SELF_SIGNED_IN_CHAIN, SELF_SIGNED_CERT_IN_CHAIN);
CHECK_VERIFY(NO_LOCAL_ISSUER, UNABLE_TO_GET_ISSUER_CERT_LOCALLY);
CHECK_VERIFY(UNVERIFIABLE_LEAF, UNABLE_TO_VERIFY_LEAF_SIGNATURE);
CHECK_VERIFY(OTHER_HOST, HOSTNAME_MISMATCH);
CHECK_VERIFY(OTHER_ADDRESS, IP_ADDRESS_MISMATCH);

#define CHECK_ALERT(name) _Static_assert((int)CLASTRO_ALERT_##name == (int)SSL_AD_##name, #name)
CHECK_ALERT(HANDSHAKE_FAILURE);
CHECK_ALERT(CERTIFICATE_REQUIRED);
CHECK_ALERT(NO_APPLICATION_PROTOCOL);

const char *clastro_verify_text(long result) { return X509_verify_cert_error_string(result); }

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

const char *clastro_openssl_version(void) { return OpenSSL_version(OPENSSL_VERSION); }
