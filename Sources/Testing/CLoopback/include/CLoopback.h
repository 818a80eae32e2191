// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#pragma clang assume_nonnull begin

// A function with a parameter `error` takes a buffer of CLOOPBACK_ERROR_SIZE bytes there. On failure it writes one
// sentence into it.
enum { CLOOPBACK_ERROR_SIZE = 256 };

// MARK: certificates (mint.c)

/// The contents of a certificate to make. All strings are UTF-8 and NUL-terminated.
typedef struct {
  const char *common_name;
  /// DNS names and IP addresses as text. A string that parses as an address is an address.
  const char *_Nonnull const *_Nullable hosts;
  size_t host_count;
  /// Seconds since 1970.
  int64_t not_before;
  int64_t not_after;
  bool is_authority;
  /// The maximum length of the path below an authority; -1 for no limit.
  int path_length;
  uint64_t serial;
  /// The kind of a new key: a curve such as "P-256", the bits of an RSA key such as "2048", or "ED25519".
  const char *key_kind;
  /// The key to certify; NULL to make a new one.
  const char *_Nullable key_pem;
  /// The issuer's certificate and key. Set both, or neither for a self-signed certificate.
  const char *_Nullable issuer_certificate_pem;
  const char *_Nullable issuer_key_pem;
  /// The DNS subtrees that certificates below this one may be issued for, and may not be issued for (RFC 5280
  /// §4.2.1.10).
  const char *_Nonnull const *_Nullable permitted;
  size_t permitted_count;
  const char *_Nonnull const *_Nullable excluded;
  size_t excluded_count;
  /// The extended key usages of a certificate that is not an authority's, as OpenSSL's configuration names them; NULL
  /// omits the extension.
  const char *_Nullable usages;
  bool omits_key_identifiers;
  bool has_unknown_critical;
  /// Whether the certificate requires a stapled OCSP response (RFC 7633).
  bool requires_staple;
  /// Whether the certificate has version 1, which has no extensions.
  bool is_version1;
  /// The values of three extensions in OpenSSL's notation; NULL for those that follow from the other members. An empty
  /// key usage omits the extension.
  const char *_Nullable alternative_names;
  const char *_Nullable basic_constraints;
  const char *_Nullable key_usage;
} cloopback_certificate_request;

/// Makes a certificate. Free both results with cloopback_free().
bool cloopback_mint(const cloopback_certificate_request *request, char *_Nullable *_Nonnull certificate_pem,
                    char *_Nullable *_Nonnull key_pem, char *error);

/// The contents of an OCSP response. A revoked certificate is revoked since `this_update`.
typedef struct {
  const char *certificate_pem;
  const char *issuer_certificate_pem;
  const char *signer_certificate_pem;
  const char *signer_key_pem;
  /// 0 good, 1 revoked, 2 unknown (RFC 6960 §4.2.1).
  int status;
  /// Seconds since 1970.
  int64_t this_update;
  int64_t next_update;
} cloopback_ocsp_request;

/// Makes an OCSP response in DER (ocsp.c). Free it with cloopback_free().
bool cloopback_ocsp(const cloopback_ocsp_request *request, uint8_t *_Nullable *_Nonnull der, size_t *length,
                    char *error);

void cloopback_free(void *_Nullable memory);

// MARK: TLS, server side (tls.c)

typedef struct cloopback_tls_context cloopback_tls_context;
/// A connection of OpenSSL (`SSL`).
typedef struct ssl_st cloopback_tls;

typedef struct {
  const char *chain_pem;
  const char *key_pem;
  /// The authorities for client certificates. If set, a client certificate that leads to one of them is required.
  const char *_Nullable client_authorities_pem;
  /// The TLS versions: 0, 1, 2 and 3 for TLS 1.0 to 1.3.
  int minimum_version;
  int maximum_version;
  /// The ALPN protocols, in the wire form of RFC 7301 §3.1 and in order of preference; empty for no ALPN.
  const uint8_t *_Nullable alpn;
  size_t alpn_length;
  bool allows_resumption;
  /// An OCSP response in DER for clients that ask for one; empty for none.
  const uint8_t *_Nullable staple;
  size_t staple_length;
  /// The identities for server names (SNI), without regard to case. The identity above is used for other names.
  const char *_Nonnull const *_Nullable names;
  const char *_Nonnull const *_Nullable name_chains_pem;
  const char *_Nonnull const *_Nullable name_keys_pem;
  size_t name_count;
} cloopback_tls_options;

cloopback_tls_context *_Nullable cloopback_tls_context_new(const cloopback_tls_options *options, char *error);
/// Makes `to` accept the session tickets that `from` issues.
bool cloopback_tls_context_share_tickets(cloopback_tls_context *from, cloopback_tls_context *to);
void cloopback_tls_context_free(cloopback_tls_context *context);

/// Performs the handshake on a blocking socket. Returns NULL on failure. The caller keeps the socket.
cloopback_tls *_Nullable cloopback_tls_accept(cloopback_tls_context *context, int descriptor, char *error);
enum { CLOOPBACK_READ_FAILED = -1, CLOOPBACK_READ_TRUNCATED = -2, CLOOPBACK_READ_RESET = -3 };
/// Reads. Returns the number of bytes, 0 at the end, or a CLOOPBACK_READ_ code. TRUNCATED means that the input ended
/// without close_notify.
ssize_t cloopback_tls_read(cloopback_tls *tls, void *buffer, size_t count);
/// Writes all of the bytes. Returns their number, or -1.
ssize_t cloopback_tls_write(cloopback_tls *tls, const void *buffer, size_t count);
/// Sends a TLS 1.3 message after the handshake: a session ticket or an update of our keys (RFC 8446 §4.6).
bool cloopback_tls_send_message(cloopback_tls *tls, bool is_ticket);
/// Sends close_notify without waiting for the peer's.
void cloopback_tls_close_notify(cloopback_tls *tls);
/// Frees without sending anything.
void cloopback_tls_free(cloopback_tls *tls);
/// Returns the TLS version, such as "TLSv1.3".
const char *cloopback_tls_version(const cloopback_tls *tls);
bool cloopback_tls_resumed(const cloopback_tls *tls);
/// Returns the server name that the client sent, or NULL if it sent none. It is valid as long as `tls`.
const char *_Nullable cloopback_tls_server_name(const cloopback_tls *tls);
/// Returns the length of the selected protocol, 0 for none. The bytes are valid as long as `tls`.
size_t cloopback_tls_alpn(const cloopback_tls *tls, const uint8_t *_Nullable *_Nonnull protocol);
/// Returns the subject's common name in the client's certificate; NULL if there is none. Free it with cloopback_free().
char *_Nullable cloopback_tls_client_name(const cloopback_tls *tls);

// MARK: header compression of HTTP/2, RFC 7541 (hpack.c)

/// A decoder of libnghttp2.
typedef struct nghttp2_hd_inflater cloopback_hpack;

typedef void (*cloopback_field_callback)(void *context, const uint8_t *name, size_t name_length, const uint8_t *value,
                                         size_t value_length);

/// Makes a decoder with a table of 4096 bytes. Returns NULL if there is no memory.
cloopback_hpack *_Nullable cloopback_hpack_new(void);
void cloopback_hpack_free(cloopback_hpack *hpack);
/// Decodes one whole header block. Calls `field` for each field, with bytes that are valid only during the call.
/// Returns false if the block is invalid; the decoder must not be used afterwards.
bool cloopback_hpack_decode(cloopback_hpack *hpack, const uint8_t *block, size_t length, cloopback_field_callback field,
                            void *context);

// MARK: sockets (socket.c). Descriptors are close-on-exec; -1 and errno on failure.

/// Listens on 127.0.0.1. With port 0 the kernel chooses. The port in use is written to `port`.
int cloopback_listen_tcp(uint16_t *port);
/// Limits the receive buffers, and thus the windows, of connections that the listener accepts from now on (SO_RCVBUF).
void cloopback_limit_receive_buffers(int listener, int bytes);
/// Listens on the path of a Unix socket, at most 107 bytes.
int cloopback_listen_unix(const char *path);
/// Accepts a connection. Returns -1 with EAGAIN if no client waits. The new socket is blocking and, for TCP, has
/// TCP_NODELAY.
int cloopback_accept(int listener);
/// Makes a pipe, whose read end becomes readable when the write end is closed.
bool cloopback_pipe(int *read_end, int *write_end);
/// Connect a blocking socket to such a listener, for tests of the servers themselves.
int cloopback_connect_tcp(uint16_t port);
int cloopback_connect_unix(const char *path);
/// Reads. Returns the number of bytes, 0 at the end, or a CLOOPBACK_READ_ code.
ssize_t cloopback_receive(int descriptor, void *buffer, size_t count);
/// Sends all of the bytes, without SIGPIPE. Returns their number, or -1.
ssize_t cloopback_send(int descriptor, const void *buffer, size_t count);
/// Limits the time in milliseconds that cloopback_send() waits for a peer that reads nothing (SO_SNDTIMEO).
void cloopback_limit_sending(int descriptor, int milliseconds);
/// Calls shutdown(2) with SHUT_WR, or with SHUT_RDWR if `both` is true.
void cloopback_shutdown(int descriptor, bool both);
/// Makes the next close of a TCP socket a reset. A Unix socket has no reset and is closed normally.
void cloopback_arm_reset(int descriptor);
/// Returns the number of bytes that were written and that the peer's kernel has not acknowledged (SIOCOUTQ); 0 if the
/// kernel does not report it.
int cloopback_unacknowledged(int descriptor);
/// Discards unread input, up to 16 MiB, so that closing sends FIN and not RST.
void cloopback_drain(int descriptor);
void cloopback_close(int descriptor);
void cloopback_unlink(const char *path);

enum { CLOOPBACK_WAIT_FIRST = 1, CLOOPBACK_WAIT_SECOND = 2, CLOOPBACK_WAIT_HANGUP = 4 };
/// Waits until `first` or `second` is readable, `peer` has hung up, or the time in milliseconds has passed (-1: no
/// limit). Descriptors of -1 are ignored. Returns the set of CLOOPBACK_WAIT_ bits, or 0 after the time limit.
int cloopback_wait(int first, int second, int peer, int milliseconds);

// MARK: datagrams on 127.0.0.1 (datagram.c)

/// Opens a non-blocking UDP socket on a port that the kernel chooses, and writes the port to `port`. Returns -1 and
/// sets errno on failure.
int cloopback_open_datagrams(uint16_t *port);
/// Reads the next datagram and the port it came from. Returns its length, which may be 0, or -1 if there is none.
ssize_t cloopback_receive_datagram(int descriptor, void *buffer, size_t count, uint16_t *from);
bool cloopback_send_datagram(int descriptor, const void *buffer, size_t count, uint16_t to);
/// Makes the kernel answer datagrams with ICMP "port unreachable", or stops that. The port stays in use.
bool cloopback_refuse_datagrams(int descriptor, bool refuses);

// MARK: threads (thread.c)

/// Starts a thread with SIGPIPE blocked, because OpenSSL writes with write(2). On that thread cloopback_thread_tag()
/// returns `tag`. Returns false on failure; `body` is then never called.
bool cloopback_thread_start(pthread_t *thread, size_t stack_size, const void *tag, void (*body)(void *),
                            void *context);
/// Returns the tag of the calling thread; NULL if the thread was not started here.
const void *_Nullable cloopback_thread_tag(void);

#pragma clang assume_nonnull end
