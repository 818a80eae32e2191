// SPDX-License-Identifier: Apache-2.0
#include "required_headers.h"

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
  // RFC 2253 would reverse the order of the certificate.
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

static void read_usages(X509 *certificate, clastro_certificate_facts *facts) {
  // X509_check_ca ignores the CA flag if there is a key usage without keyCertSign.
  facts->is_authority = X509_check_ca(certificate) > 0;
  uint32_t flags = X509_get_extension_flags(certificate);
  // Without the extension, OpenSSL reports every usage.
  uint32_t usage = flags & EXFLAG_KUSAGE ? X509_get_key_usage(certificate) : 0;
  facts->may_certify = (flags & EXFLAG_CA) || (usage & (KU_KEY_CERT_SIGN | KU_CRL_SIGN));
  facts->may_sign = usage & KU_DIGITAL_SIGNATURE;
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
    read_usages(certificate, facts);
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

// Refuses to give a password. Without this callback OpenSSL would ask for the password of an encrypted block on the
// terminal.
static int no_password(char *buffer, int size, int writing, void *context) {
  (void)buffer, (void)size, (void)writing, (void)context;
  return -1;
}

static bool starts(const char *at, const char *end, const char *word) {
  size_t length = strlen(word);
  return (size_t)(end - at) >= length && memcmp(at, word, length) == 0;
}

static const char *find(const char *at, const char *end, const char *word) {
  while (at < end && !starts(at, end, word)) at++;
  return at < end ? at : NULL;
}

static const char *end_of_line(const char *at, const char *end) {
  while (at < end && *at != '\n' && *at != '\r') at++;
  return at;
}

// Returns the number of lines that are meant to begin a certificate, whether or not OpenSSL recognizes them.
static int certificate_markers(const char *pem, size_t length) {
  const char *end = pem + length;
  int count = 0;
  for (const char *at = pem; (at = find(at, end, "BEGIN "));) {
    bool dashed = at > pem && at[-1] == '-';
    at += strlen("BEGIN ");
    if (starts(at, end, "TRUSTED ")) at += strlen("TRUSTED ");
    if (starts(at, end, "X509 ")) at += strlen("X509 ");
    if (!starts(at, end, "CERTIFICATE")) continue;
    at += strlen("CERTIFICATE");
    const char *line_end = end_of_line(at, end);
    const char *rest = at;
    while (rest < line_end && (*rest == ' ' || *rest == '\t')) rest++;
    if ((at < end && *at == '-') || (dashed && rest == line_end)) count++;
  }
  return count;
}

// Returns whether OpenSSL recognizes the first line that is meant to begin a block.
static bool begins_well(const char *pem, size_t length) {
  const char *end = pem + length;
  const char *line = pem;
  while (line < end) {
    const char *line_end = end_of_line(line, end);
    const char *begin = find(line, line_end, "BEGIN ");
    const char *last = line_end;
    while (last > line && (last[-1] == ' ' || last[-1] == '\t')) last--;
    if (begin && ((begin > line && begin[-1] == '-') || last[-1] == '-')) {
      return starts(line, line_end, "-----BEGIN ") && last - line > 5 && starts(last - 5, last, "-----");
    }
    line = line_end < end ? line_end + 1 : end;
  }
  return false;
}

int clastro_pem_certificates(const char *pem, size_t length, void *context, clastro_certificate_visitor each) {
  if (length > INT_MAX) return CLASTRO_PEM_BROKEN;
  ERR_set_mark();
  BIO *bio = BIO_new_mem_buf(pem, (int)length);
  int count = 0;
  X509 *certificate = NULL;
  while (bio && (certificate = PEM_read_bio_X509_AUX(bio, NULL, no_password, NULL))) {
    unsigned char *der = NULL;
    int size = i2d_X509(certificate, &der);
    X509_free(certificate);
    if (size <= 0) break;
    each(context, der, (size_t)size);
    OPENSSL_free(der);
    count++;
  }
  // OpenSSL reports the end of the text as "no start line".
  unsigned long error = ERR_peek_last_error();
  bool is_end = bio && ERR_GET_LIB(error) == ERR_LIB_PEM && ERR_GET_REASON(error) == PEM_R_NO_START_LINE;
  BIO_free(bio);
  ERR_pop_to_mark();
  if (!is_end) return CLASTRO_PEM_BROKEN;
  return certificate_markers(pem, length) == count ? count : CLASTRO_PEM_SKIPPED;
}

// Computes the pin of a certificate request. It avoids EVP_PKEY, which exists only for key types that OpenSSL knows.
static bool request_pin(const unsigned char *der, long length, uint8_t *pin) {
  const unsigned char *cursor = der;
  X509_REQ *request = d2i_X509_REQ(NULL, &cursor, length);
  unsigned char *encoded = NULL;
  bool is_whole = request && cursor == der + length;
  int size = is_whole ? i2d_X509_PUBKEY(X509_REQ_get_X509_PUBKEY(request), &encoded) : -1;
  X509_REQ_free(request);
  return hash(encoded, size, pin);
}

static bool key_pin(const unsigned char *der, long length, uint8_t *pin) {
  const unsigned char *cursor = der;
  X509_PUBKEY *key = d2i_X509_PUBKEY(NULL, &cursor, length);
  bool is_whole = key && cursor == der + length;
  X509_PUBKEY_free(key);
  return is_whole && EVP_Digest(der, (size_t)length, pin, NULL, EVP_sha256(), NULL) == 1;
}

bool clastro_pem_pin(const char *pem, size_t length, uint8_t *pin) {
  if (length > INT_MAX || !begins_well(pem, length)) return false;
  ERR_set_mark();
  BIO *bio = BIO_new_mem_buf(pem, (int)length);
  char *name = NULL, *header = NULL;
  unsigned char *data = NULL;
  long size = 0;
  bool good = false;
  if (bio && PEM_read_bio(bio, &name, &header, &data, &size) == 1 && !strstr(header, "ENCRYPTED")) {
    if (strcmp(name, "CERTIFICATE") == 0) {
      good = clastro_certificate_pin(data, (size_t)size, pin);
    } else if (strcmp(name, "CERTIFICATE REQUEST") == 0 || strcmp(name, "NEW CERTIFICATE REQUEST") == 0) {
      good = request_pin(data, size, pin);
    } else if (strcmp(name, "PUBLIC KEY") == 0) {
      good = key_pin(data, size, pin);
    }
  }
  OPENSSL_free(name);
  OPENSSL_free(header);
  OPENSSL_free(data);
  BIO_free(bio);
  ERR_pop_to_mark();
  return good;
}
