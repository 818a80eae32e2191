// SPDX-License-Identifier: Apache-2.0
#include "required_headers.h"

#include "clastro_certificate.h"

#include <arpa/inet.h>
#include <limits.h>
#include <openssl/err.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <string.h>

void clastro_certificate_names(const uint8_t *der, size_t length, void *context, clastro_name_visitor each) {
  if (length > LONG_MAX) return;
  ERR_set_mark();
  const unsigned char *at = der;
  X509 *certificate = d2i_X509(NULL, &at, (long)length);
  GENERAL_NAMES *names = certificate ? X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL) : NULL;
  for (int index = 0; index < sk_GENERAL_NAME_num(names); index++) {
    int kind = 0;
    const ASN1_STRING *value = GENERAL_NAME_get0_value(sk_GENERAL_NAME_value(names, index), &kind);
    bool is_known = kind == GEN_DNS || kind == GEN_IPADD || kind == GEN_URI;
    const unsigned char *bytes = is_known ? ASN1_STRING_get0_data(value) : NULL;
    if (!bytes) continue;
    size_t size = (size_t)ASN1_STRING_length(value);
    if (kind != GEN_IPADD) {
      each(context, kind == GEN_URI, bytes, size);
    } else if (size == 4 || size == 16) {
      char text[INET6_ADDRSTRLEN];
      if (inet_ntop(size == 4 ? AF_INET : AF_INET6, bytes, text, sizeof text))
        each(context, false, (const uint8_t *)text, strlen(text));
    }
  }
  GENERAL_NAMES_free(names);
  X509_free(certificate);
  ERR_pop_to_mark();
}

bool clastro_certificate_is_for(const uint8_t *der, size_t length, const char *host, bool is_address) {
  if (length > LONG_MAX) return false;
  ERR_set_mark();
  const unsigned char *at = der;
  X509 *certificate = d2i_X509(NULL, &at, (long)length);
  unsigned flags = X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS;
  // By default OpenSSL checks the common name unless there is an alternative name of the same kind.
  if (certificate != NULL && X509_get_ext_by_NID(certificate, NID_subject_alt_name, -1) >= 0)
    flags |= X509_CHECK_FLAG_NEVER_CHECK_SUBJECT;
  bool good = certificate != NULL
    && (is_address ? X509_check_ip_asc(certificate, host, 0) : X509_check_host(certificate, host, 0, flags, NULL)) == 1;
  X509_free(certificate);
  ERR_pop_to_mark();
  return good;
}
