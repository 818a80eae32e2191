// SPDX-License-Identifier: Apache-2.0
#include "required_headers.h"

#include <openssl/err.h>
#include <openssl/ocsp.h>
#include <openssl/x509.h>

#include "CLoopback.h"
#include "shared.h"

static bool add_status(OCSP_BASICRESP *basic, OCSP_CERTID *id, const cloopback_ocsp_request *request) {
  ASN1_TIME *this_update = ASN1_TIME_adj(NULL, (time_t)request->this_update, 0, 0);
  ASN1_TIME *next_update = ASN1_TIME_adj(NULL, (time_t)request->next_update, 0, 0);
  // The status codes have the values of V_OCSP_CERTSTATUS_.
  bool is_revoked = request->status == V_OCSP_CERTSTATUS_REVOKED;
  bool good = this_update && next_update
              && OCSP_basic_add1_status(basic, id, request->status, OCSP_REVOKED_STATUS_KEYCOMPROMISE,
                                        is_revoked ? this_update : NULL, this_update, next_update);
  ASN1_TIME_free(this_update);
  ASN1_TIME_free(next_update);
  return good;
}

static bool encode(OCSP_BASICRESP *basic, uint8_t **der, size_t *length) {
  OCSP_RESPONSE *response = OCSP_response_create(OCSP_RESPONSE_STATUS_SUCCESSFUL, basic);
  *der = NULL;
  int count = response ? i2d_OCSP_RESPONSE(response, der) : -1;
  OCSP_RESPONSE_free(response);
  *length = count > 0 ? (size_t)count : 0;
  return count > 0;
}

bool cloopback_ocsp(const cloopback_ocsp_request *request, uint8_t **der, size_t *length, char *error) {
  ERR_clear_error();
  X509 *certificate = cloopback_read_certificate(request->certificate_pem);
  X509 *issuer = cloopback_read_certificate(request->issuer_certificate_pem);
  X509 *signer = cloopback_read_certificate(request->signer_certificate_pem);
  EVP_PKEY *key = cloopback_read_key(request->signer_key_pem);
  OCSP_BASICRESP *basic = OCSP_BASICRESP_new();
  // The digest only identifies the certificate, and all clients use SHA-1 in their requests (RFC 5019 §2.1.1).
  OCSP_CERTID *id = certificate && issuer ? OCSP_cert_to_id(EVP_sha1(), certificate, issuer) : NULL;
  bool good = id && signer && key && basic && add_status(basic, id, request)
              && OCSP_basic_sign(basic, signer, key, cloopback_digest_for(key), NULL, 0) == 1
              && encode(basic, der, length);
  if (!good) cloopback_explain(error, "the OCSP response cannot be made");
  OCSP_CERTID_free(id);
  OCSP_BASICRESP_free(basic);
  EVP_PKEY_free(key);
  X509_free(signer);
  X509_free(issuer);
  X509_free(certificate);
  return good;
}
