// SPDX-License-Identifier: Apache-2.0
#include "required_headers.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "CLoopback.h"
#include "shared.h"

void cloopback_explain(char *error, const char *what) {
  unsigned long code = ERR_peek_last_error();
  const char *reason = code ? ERR_reason_error_string(code) : NULL;
  if (reason) {
    snprintf(error, CLOOPBACK_ERROR_SIZE, "%s: %s", what, reason);
  } else {
    snprintf(error, CLOOPBACK_ERROR_SIZE, "%s", what);
  }
  ERR_clear_error();
}

void cloopback_free(void *memory) { OPENSSL_free(memory); }

BIO *cloopback_memory(const char *text) { return BIO_new_mem_buf(text, -1); }

X509 *cloopback_read_certificate(const char *pem) {
  BIO *bio = cloopback_memory(pem);
  X509 *certificate = bio ? PEM_read_bio_X509(bio, NULL, NULL, NULL) : NULL;
  BIO_free(bio);
  return certificate;
}

EVP_PKEY *cloopback_read_key(const char *pem) {
  BIO *bio = cloopback_memory(pem);
  EVP_PKEY *key = bio ? PEM_read_bio_PrivateKey(bio, NULL, NULL, NULL) : NULL;
  BIO_free(bio);
  return key;
}

STACK_OF(X509) *cloopback_read_certificates(const char *pem) {
  BIO *bio = cloopback_memory(pem);
  STACK_OF(X509) *all = sk_X509_new_null();
  if (!bio || !all) {
    BIO_free(bio);
    sk_X509_free(all);
    return NULL;
  }
  X509 *one;
  while ((one = PEM_read_bio_X509(bio, NULL, NULL, NULL)) != NULL) {
    sk_X509_push(all, one);
  }
  BIO_free(bio);
  // The PEM reader reports the end of the text as an error.
  ERR_clear_error();
  if (sk_X509_num(all) == 0) {
    sk_X509_free(all);
    return NULL;
  }
  return all;
}

static EVP_PKEY *make_key(const char *kind) {
  if (strcmp(kind, "ED25519") == 0) return EVP_PKEY_Q_keygen(NULL, NULL, kind);
  int bits = atoi(kind);
  return bits > 0 ? EVP_RSA_gen(bits) : EVP_EC_gen(kind);
}

const EVP_MD *cloopback_digest_for(EVP_PKEY *key) {
  if (EVP_PKEY_get_base_id(key) == EVP_PKEY_ED25519) return NULL;
  int bits = EVP_PKEY_get_security_bits(key);
  return bits >= 256 ? EVP_sha512() : bits >= 192 ? EVP_sha384() : EVP_sha256();
}

static bool add_extension(X509 *certificate, X509 *issuer, const char *name, const char *value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, NULL, NULL, 0);
  X509_EXTENSION *extension = X509V3_EXT_nconf(NULL, &context, name, value);
  bool added = extension && X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
  return added;
}

static GENERAL_NAME *dns_name(const char *host) {
  GENERAL_NAME *name = GENERAL_NAME_new();
  ASN1_IA5STRING *dns = ASN1_IA5STRING_new();
  if (!dns || !ASN1_STRING_set(dns, host, -1)) {
    ASN1_IA5STRING_free(dns);
    GENERAL_NAME_free(name);
    return NULL;
  }
  GENERAL_NAME_set0_value(name, GEN_DNS, dns);
  return name;
}

static GENERAL_NAME *general_name(const char *host) {
  ASN1_OCTET_STRING *address = a2i_IPADDRESS(host);
  if (!address) {
    ERR_clear_error();
    return dns_name(host);
  }
  GENERAL_NAME *name = GENERAL_NAME_new();
  GENERAL_NAME_set0_value(name, GEN_IPADD, address);
  return name;
}

static bool add_hosts(X509 *certificate, X509 *issuer, const cloopback_certificate_request *request) {
  if (request->alternative_names) {
    return add_extension(certificate, issuer, "subjectAltName", request->alternative_names);
  }
  if (request->host_count == 0) return true;
  GENERAL_NAMES *names = GENERAL_NAMES_new();
  bool good = names != NULL;
  for (size_t index = 0; good && index < request->host_count; index++) {
    GENERAL_NAME *name = general_name(request->hosts[index]);
    good = name && sk_GENERAL_NAME_push(names, name) > 0;
  }
  good = good && X509_add1_ext_i2d(certificate, NID_subject_alt_name, names, 0, 0) == 1;
  GENERAL_NAMES_free(names);
  return good;
}

static bool add_subtrees(STACK_OF(GENERAL_SUBTREE) **subtrees, const char *const *names, size_t count) {
  for (size_t index = 0; index < count; index++) {
    if (!*subtrees) *subtrees = sk_GENERAL_SUBTREE_new_null();
    GENERAL_SUBTREE *subtree = GENERAL_SUBTREE_new();
    GENERAL_NAME *name = dns_name(names[index]);
    if (!*subtrees || !subtree || !name || sk_GENERAL_SUBTREE_push(*subtrees, subtree) <= 0) {
      GENERAL_NAME_free(name);
      GENERAL_SUBTREE_free(subtree);
      return false;
    }
    GENERAL_NAME_free(subtree->base);
    subtree->base = name;
  }
  return true;
}

static bool add_name_constraints(X509 *certificate, const cloopback_certificate_request *request) {
  if (request->permitted_count == 0 && request->excluded_count == 0) return true;
  NAME_CONSTRAINTS *constraints = NAME_CONSTRAINTS_new();
  bool good = constraints
              && add_subtrees(&constraints->permittedSubtrees, request->permitted, request->permitted_count)
              && add_subtrees(&constraints->excludedSubtrees, request->excluded, request->excluded_count)
              && X509_add1_ext_i2d(certificate, NID_name_constraints, constraints, 1, 0) == 1;
  NAME_CONSTRAINTS_free(constraints);
  return good;
}

static bool add_usages(X509 *certificate, X509 *issuer, const cloopback_certificate_request *request) {
  const char *usage = request->is_authority ? "critical,keyCertSign,cRLSign" : "critical,digitalSignature";
  if (request->key_usage) usage = request->key_usage;
  if (*usage && !add_extension(certificate, issuer, "keyUsage", usage)) return false;
  return request->is_authority || !request->usages
         || add_extension(certificate, issuer, "extendedKeyUsage", request->usages);
}

static bool add_extensions(X509 *certificate, X509 *issuer, const cloopback_certificate_request *request) {
  char constraints[48] = "critical,CA:FALSE";
  if (request->is_authority && request->path_length >= 0) {
    snprintf(constraints, sizeof constraints, "critical,CA:TRUE,pathlen:%d", request->path_length);
  } else if (request->is_authority) {
    snprintf(constraints, sizeof constraints, "critical,CA:TRUE");
  }
  const char *value = request->basic_constraints ? request->basic_constraints : constraints;
  return add_extension(certificate, issuer, "basicConstraints", value)
         && add_usages(certificate, issuer, request)
         && (request->omits_key_identifiers
             || (add_extension(certificate, issuer, "subjectKeyIdentifier", "hash")
                 && add_extension(certificate, issuer, "authorityKeyIdentifier", "keyid")))
         && add_name_constraints(certificate, request)
         // An object identifier below the arc that is reserved for documentation.
         && (!request->has_unknown_critical || add_extension(certificate, issuer, "2.999.1", "critical,DER:0500"))
         && (!request->requires_staple || add_extension(certificate, issuer, "tlsfeature", "status_request"))
         && add_hosts(certificate, issuer, request);
}

static bool fill(X509 *certificate, EVP_PKEY *key, X509 *issuer, const cloopback_certificate_request *request) {
  X509_NAME *subject = X509_get_subject_name(certificate);
  return X509_set_version(certificate, request->is_version1 ? X509_VERSION_1 : X509_VERSION_3)
         && ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), request->serial)
         && ASN1_TIME_adj(X509_getm_notBefore(certificate), (time_t)request->not_before, 0, 0)
         && ASN1_TIME_adj(X509_getm_notAfter(certificate), (time_t)request->not_after, 0, 0)
         && X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, (const unsigned char *)request->common_name,
                                       -1, -1, 0)
         && X509_set_issuer_name(certificate, issuer ? X509_get_subject_name(issuer) : subject)
         && X509_set_pubkey(certificate, key)
         && (request->is_version1 || add_extensions(certificate, issuer ? issuer : certificate, request));
}

static char *text_of(BIO *bio) {
  char *bytes = NULL;
  long count = BIO_get_mem_data(bio, &bytes);
  return count > 0 ? OPENSSL_strndup(bytes, (size_t)count) : NULL;
}

static bool write_pem(X509 *certificate, EVP_PKEY *key, char **certificate_pem, char **key_pem) {
  BIO *certificate_bio = BIO_new(BIO_s_mem());
  BIO *key_bio = BIO_new(BIO_s_mem());
  bool good = certificate_bio && key_bio && PEM_write_bio_X509(certificate_bio, certificate)
              && PEM_write_bio_PKCS8PrivateKey(key_bio, key, NULL, NULL, 0, NULL, NULL);
  if (good) {
    *certificate_pem = text_of(certificate_bio);
    *key_pem = text_of(key_bio);
  }
  BIO_free(certificate_bio);
  BIO_free(key_bio);
  return good && *certificate_pem && *key_pem;
}

bool cloopback_mint(const cloopback_certificate_request *request, char **certificate_pem, char **key_pem,
                    char *error) {
  *certificate_pem = NULL;
  *key_pem = NULL;
  bool signed_by_other = request->issuer_certificate_pem && request->issuer_key_pem;
  X509 *issuer = signed_by_other ? cloopback_read_certificate(request->issuer_certificate_pem) : NULL;
  EVP_PKEY *issuer_key = signed_by_other ? cloopback_read_key(request->issuer_key_pem) : NULL;
  EVP_PKEY *key = request->key_pem ? cloopback_read_key(request->key_pem) : make_key(request->key_kind);
  X509 *certificate = X509_new();
  bool good = false;
  if (signed_by_other && (!issuer || !issuer_key)) {
    cloopback_explain(error, "the issuer cannot be read");
  } else if (!key) {
    cloopback_explain(error, "the key cannot be made or read");
  } else if (!certificate || !fill(certificate, key, issuer, request)) {
    cloopback_explain(error, "the certificate cannot be filled in");
  } else {
    EVP_PKEY *signer = issuer_key ? issuer_key : key;
    good = X509_sign(certificate, signer, cloopback_digest_for(signer)) > 0
           && write_pem(certificate, key, certificate_pem, key_pem);
    if (!good) cloopback_explain(error, "the certificate cannot be signed");
  }
  X509_free(certificate);
  X509_free(issuer);
  EVP_PKEY_free(issuer_key);
  EVP_PKEY_free(key);
  return good;
}
