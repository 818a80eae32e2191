// SPDX-License-Identifier: Apache-2.0
#include "clastro_certificate.h"

#include <limits.h>
#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static X509 *parse(const uint8_t *der, size_t length) {
  if (length > LONG_MAX) return NULL;
  const unsigned char *cursor = der;
  X509 *certificate = d2i_X509(NULL, &cursor, (long)length);
  if (certificate && cursor == der + length) return certificate;
  X509_free(certificate);
  return NULL;
}

static char *name_text(const X509_NAME *name) {
  BIO *bio = BIO_new(BIO_s_mem());
  char *text = NULL;
  // RFC 2253 order would be the reverse of what certificates say.
  unsigned long flags = (XN_FLAG_ONELINE | ASN1_STRFLGS_UTF8_CONVERT) & ~(unsigned long)(ASN1_STRFLGS_ESC_MSB | XN_FLAG_SPC_EQ);
  if (bio && X509_NAME_print_ex(bio, name, 0, flags) >= 0) {
    char *data = NULL;
    long length = BIO_get_mem_data(bio, &data);
    if (length >= 0) text = strndup(data ? data : "", (size_t)length);
  }
  BIO_free(bio);
  return text;
}

static int64_t seconds(const ASN1_TIME *time) {
  struct tm parts;
  if (!time || ASN1_TIME_to_tm(time, &parts) != 1) return 0;
  return (int64_t)timegm(&parts);
}

static void read_key(X509 *certificate, clastro_certificate_facts *facts) {
  EVP_PKEY *key = X509_get0_pubkey(certificate);
  if (!key) return;
  const char *name = EVP_PKEY_get0_type_name(key);
  facts->key_algorithm = name ? strdup(name) : NULL;
  facts->key_bits = EVP_PKEY_get_bits(key);
  char curve[80];
  size_t length = 0;
  if (EVP_PKEY_is_a(key, "EC") && EVP_PKEY_get_group_name(key, curve, sizeof curve, &length) == 1) {
    facts->key_curve = strdup(curve);
  }
}

bool clastro_certificate_read(const uint8_t *der, size_t length, clastro_certificate_facts *facts) {
  ERR_set_mark();
  X509 *certificate = parse(der, length);
  if (certificate) {
    memset(facts, 0, sizeof *facts);
    facts->subject = name_text(X509_get_subject_name(certificate));
    facts->issuer = name_text(X509_get_issuer_name(certificate));
    facts->not_before = seconds(X509_get0_notBefore(certificate));
    facts->not_after = seconds(X509_get0_notAfter(certificate));
    facts->is_authority = X509_check_ca(certificate) > 0;
    facts->is_self_issued =
      X509_NAME_cmp(X509_get_subject_name(certificate), X509_get_issuer_name(certificate)) == 0;
    read_key(certificate, facts);
    X509_free(certificate);
  }
  ERR_pop_to_mark();
  return certificate != NULL;
}

void clastro_certificate_facts_free(clastro_certificate_facts *facts) {
  free(facts->subject);
  free(facts->issuer);
  free(facts->key_algorithm);
  free(facts->key_curve);
}

static bool hash(unsigned char *encoded, int length, uint8_t *pin) {
  bool good = length > 0 && EVP_Digest(encoded, (size_t)length, pin, NULL, EVP_sha256(), NULL) == 1;
  OPENSSL_free(encoded);
  return good;
}

static bool certificate_pin(X509 *certificate, uint8_t *pin) {
  unsigned char *encoded = NULL;
  int length = certificate ? i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &encoded) : -1;
  return hash(encoded, length, pin);
}

bool clastro_certificate_pin(const uint8_t *der, size_t length, uint8_t *pin) {
  ERR_set_mark();
  X509 *certificate = parse(der, length);
  bool good = certificate_pin(certificate, pin);
  X509_free(certificate);
  ERR_pop_to_mark();
  return good;
}

int clastro_pem_certificates(const char *pem, size_t length, void *context, clastro_certificate_visitor each) {
  if (length > INT_MAX) return -1;
  ERR_set_mark();
  BIO *bio = BIO_new_mem_buf(pem, (int)length);
  int count = 0;
  X509 *certificate = NULL;
  while (bio && (certificate = PEM_read_bio_X509_AUX(bio, NULL, NULL, NULL))) {
    unsigned char *der = NULL;
    int size = i2d_X509(certificate, &der);
    X509_free(certificate);
    if (size <= 0) break;
    each(context, der, (size_t)size);
    OPENSSL_free(der);
    count++;
  }
  // The end of the text is told as "no start line".
  bool is_end = bio && ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  BIO_free(bio);
  ERR_pop_to_mark();
  return is_end ? count : -1;
}

static bool key_pin(EVP_PKEY *key, uint8_t *pin) {
  unsigned char *encoded = NULL;
  int length = key ? i2d_PUBKEY(key, &encoded) : -1;
  return hash(encoded, length, pin);
}

bool clastro_pem_pin(const char *pem, size_t length, uint8_t *pin) {
  if (length > INT_MAX) return false;
  ERR_set_mark();
  BIO *bio = BIO_new_mem_buf(pem, (int)length);
  char *name = NULL, *header = NULL;
  unsigned char *data = NULL;
  long size = 0;
  bool good = false;
  if (bio && PEM_read_bio(bio, &name, &header, &data, &size) == 1) {
    const unsigned char *cursor = data;
    if (strcmp(name, "CERTIFICATE") == 0) {
      good = clastro_certificate_pin(data, (size_t)size, pin);
    } else if (strcmp(name, "CERTIFICATE REQUEST") == 0 || strcmp(name, "NEW CERTIFICATE REQUEST") == 0) {
      X509_REQ *request = d2i_X509_REQ(NULL, &cursor, size);
      good = request && key_pin(X509_REQ_get0_pubkey(request), pin);
      X509_REQ_free(request);
    } else if (strcmp(name, "PUBLIC KEY") == 0) {
      EVP_PKEY *key = d2i_PUBKEY(NULL, &cursor, size);
      good = key_pin(key, pin);
      EVP_PKEY_free(key);
    }
  }
  OPENSSL_free(name);
  OPENSSL_free(header);
  OPENSSL_free(data);
  BIO_free(bio);
  ERR_pop_to_mark();
  return good;
}
