// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "CLastro.h"

#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { most_connections = 16 };

typedef struct {
  int socket;
  SSL *ssl;
} peer;

struct clastro_check_server {
  SSL_CTX *context;
  BIO *root;
  int listener;
  struct sockaddr_in address;
  // The sockets of the clients. libcurl may have closed them.
  int clients[most_connections];
  int client_count;
  peer peers[most_connections];
  int peer_count;
  size_t request_bytes;
};

static bool add_name(X509 *certificate, const char *host) {
  char names[256];
  if (snprintf(names, sizeof names, "DNS:%s", host) >= (int)sizeof names) return false;
  X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, names);
  bool good = extension && X509_add_ext(certificate, extension, -1) == 1;
  X509_EXTENSION_free(extension);
  X509_NAME *subject = X509_get_subject_name(certificate);
  return good &&
         X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, (const unsigned char *)host, -1, -1, 0) == 1 &&
         X509_set_issuer_name(certificate, subject) == 1;
}

// Makes a certificate that is valid from one hour ago until one hour from now.
static X509 *make_certificate(EVP_PKEY *key, const char *host) {
  X509 *certificate = X509_new();
  bool good = certificate && X509_set_version(certificate, X509_VERSION_3) == 1 &&
              ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1) == 1 &&
              X509_gmtime_adj(X509_getm_notBefore(certificate), -3600) &&
              X509_gmtime_adj(X509_getm_notAfter(certificate), 3600) && add_name(certificate, host) &&
              X509_set_pubkey(certificate, key) == 1 && X509_sign(certificate, key, EVP_sha256()) > 0;
  if (good) return certificate;
  X509_free(certificate);
  return NULL;
}

static bool set_up(clastro_check_server *server, const char *host) {
  EVP_PKEY *key = EVP_EC_gen("P-256");
  X509 *certificate = key ? make_certificate(key, host) : NULL;
  server->context = SSL_CTX_new(TLS_server_method());
  server->root = BIO_new(BIO_s_mem());
  bool good = certificate && server->context && server->root &&
              PEM_write_bio_X509(server->root, certificate) == 1 &&
              SSL_CTX_use_certificate(server->context, certificate) == 1 &&
              SSL_CTX_use_PrivateKey(server->context, key) == 1;
  X509_free(certificate);
  EVP_PKEY_free(key);
  return good;
}

// Listens on a port of 127.0.0.1 that the kernel chooses. A Unix socket would not do: libcurl does not reuse a
// connection that has no address.
static bool begin_listening(clastro_check_server *server) {
  socklen_t length = sizeof server->address;
  server->listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  server->address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  return server->listener >= 0 && bind(server->listener, (struct sockaddr *)&server->address, length) == 0 &&
         getsockname(server->listener, (struct sockaddr *)&server->address, &length) == 0 &&
         listen(server->listener, most_connections) == 0;
}

clastro_check_server *clastro_check_server_new(const char *host) {
  clastro_check_server *server = calloc(1, sizeof *server);
  if (!server) return NULL;
  ERR_set_mark();
  bool good = begin_listening(server) && set_up(server, host);
  ERR_pop_to_mark();
  if (good) return server;
  clastro_check_server_free(server);
  return NULL;
}

void clastro_check_server_free(clastro_check_server *server) {
  for (int index = 0; index < server->peer_count; index++) {
    SSL_free(server->peers[index].ssl);
    close(server->peers[index].socket);
  }
  SSL_CTX_free(server->context);
  BIO_free(server->root);
  if (server->listener >= 0) close(server->listener);
  free(server);
}

const char *clastro_check_server_root(const clastro_check_server *server, size_t *length) {
  char *text = NULL;
  *length = (size_t)BIO_get_mem_data(server->root, &text);
  return text;
}

curl_socket_t clastro_check_server_open(clastro_check_server *server, struct curl_sockaddr *address) {
  if (server->client_count == most_connections) return CURL_SOCKET_BAD;
  int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (client < 0) return CURL_SOCKET_BAD;
  _Static_assert(sizeof address->addr == sizeof server->address, "an address of IPv4 takes another room");
  address->family = AF_INET;
  address->addrlen = sizeof server->address;
  memcpy(&address->addr, &server->address, sizeof server->address);
  return server->clients[server->client_count++] = client;
}

// Returns whether a connection comes from one of our clients. Anyone on this machine may connect.
static bool is_ours(const clastro_check_server *server, const struct sockaddr_in *other) {
  for (int index = 0; index < server->client_count; index++) {
    struct sockaddr_in own = {0};
    socklen_t length = sizeof own;
    if (getsockname(server->clients[index], (struct sockaddr *)&own, &length)) continue;
    if (own.sin_port == other->sin_port && own.sin_addr.s_addr == other->sin_addr.s_addr) return true;
  }
  return false;
}

static void take_connections(clastro_check_server *server) {
  struct sockaddr_in other = {0};
  socklen_t length = sizeof other;
  int socket;
  while ((socket = accept4(server->listener, (struct sockaddr *)&other, &length, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
    bool has_room = server->peer_count < most_connections && is_ours(server, &other);
    // In memory, because SIGPIPE would be raised if OpenSSL wrote to a socket whose other end is closed.
    SSL *ssl = has_room ? clastro_tls_in_memory(server->context) : NULL;
    if (ssl) {
      SSL_set_accept_state(ssl);
      server->peers[server->peer_count++] = (peer){.socket = socket, .ssl = ssl};
    } else {
      close(socket);
    }
  }
}

static void serve(clastro_check_server *server, peer *peer) {
  static const char answer[] = "HTTP/1.1 204 No Content\r\n\r\n";
  char bytes[1024];
  size_t count = 0, written = 0;
  while (SSL_read_ex(peer->ssl, bytes, sizeof bytes, &count) == 1) {
    server->request_bytes += count;
    // A request is one record: libcurl writes its head of some 70 bytes at once, and no other before the response.
    if (count >= 4 && memcmp(bytes + count - 4, "\r\n\r\n", 4) == 0) {
      SSL_write_ex(peer->ssl, answer, sizeof answer - 1, &written);
    }
  }
}

void clastro_check_server_step(clastro_check_server *server) {
  char bytes[4096];
  ERR_set_mark();
  take_connections(server);
  for (int index = 0; index < server->peer_count; index++) {
    peer *peer = &server->peers[index];
    ssize_t count;
    while ((count = recv(peer->socket, bytes, sizeof bytes, MSG_DONTWAIT)) > 0) {
      BIO_write(SSL_get_rbio(peer->ssl), bytes, (int)count);
    }
    serve(server, peer);
    // All of the output fits into the socket's send buffer at once.
    while ((count = BIO_read(SSL_get_wbio(peer->ssl), bytes, sizeof bytes)) > 0) {
      send(peer->socket, bytes, (size_t)count, MSG_DONTWAIT | MSG_NOSIGNAL);
    }
  }
  ERR_pop_to_mark();
}

clastro_check_counts clastro_check_server_counts(const clastro_check_server *server) {
  clastro_check_counts counts = {.request_bytes = server->request_bytes};
  for (int index = 0; index < server->peer_count; index++) {
    counts.resumptions += SSL_session_reused(server->peers[index].ssl) == 1;
  }
  return counts;
}

static int accept_all(X509_STORE_CTX *verification, void *argument) {
  (void)argument;
  X509_STORE_CTX_set_error(verification, X509_V_OK);
  return 1;
}

void clastro_check_defeat_verification(void *context) {
  SSL_CTX_set_cert_verify_callback(context, accept_all, NULL);
}
