// SPDX-License-Identifier: Apache-2.0
#include "required_headers.h"

#include "clastro_certificate.h"

#include <limits.h>
#include <openssl/err.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

bool clastro_certificate_is_for(const uint8_t *der, size_t length, const char *host, bool is_address) {
  if (length > LONG_MAX) return false;
  ERR_set_mark();
  const unsigned char *at = der;
  X509 *certificate = d2i_X509(NULL, &at, (long)length);
  unsigned flags = X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS;
  // OpenSSL looks at the common name unless there is an alternative name of the same kind.
  if (certificate != NULL && X509_get_ext_by_NID(certificate, NID_subject_alt_name, -1) >= 0)
    flags |= X509_CHECK_FLAG_NEVER_CHECK_SUBJECT;
  bool good = certificate != NULL
    && (is_address ? X509_check_ip_asc(certificate, host, 0) : X509_check_host(certificate, host, 0, flags, NULL)) == 1;
  X509_free(certificate);
  ERR_pop_to_mark();
  return good;
}
