// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#pragma clang assume_nonnull begin

// Errors: every function that can fail takes a buffer of CLOOPBACK_ERROR_SIZE bytes and leaves one sentence in it.
enum { CLOOPBACK_ERROR_SIZE = 256 };

// MARK: certificates (mint.c)

enum {
  CLOOPBACK_KEY_P256 = 0,
  CLOOPBACK_KEY_P384 = 1,
  CLOOPBACK_KEY_P521 = 2,
  CLOOPBACK_KEY_RSA2048 = 3,
  CLOOPBACK_KEY_RSA3072 = 4,
  CLOOPBACK_KEY_RSA4096 = 5,
  CLOOPBACK_KEY_ED25519 = 6,
};

enum { CLOOPBACK_USAGE_SERVER = 1, CLOOPBACK_USAGE_CLIENT = 2 };

/// What a certificate says. All strings are UTF-8 and NUL-terminated.
typedef struct {
  const char *common_name;
  /// DNS names and textual IP addresses, told apart by whether they parse as an address.
  const char *_Nonnull const *_Nullable hosts;
  size_t host_count;
  /// Seconds since 1970.
  int64_t not_before;
  int64_t not_after;
  bool is_authority;
  /// -1 for no limit.
  int path_length;
  uint64_t serial;
  int key_type;
  /// A key to certify instead of a new one.
  const char *_Nullable key_pem;
  /// Both or neither; neither makes a self-signed certificate.
  const char *_Nullable issuer_certificate_pem;
  const char *_Nullable issuer_key_pem;
  /// DNS subtrees that certificates below may be for, and may not be for (RFC 5280 §4.2.1.10).
  const char *_Nonnull const *_Nullable permitted;
  size_t permitted_count;
  const char *_Nonnull const *_Nullable excluded;
  size_t excluded_count;
  /// CLOOPBACK_USAGE_ bits of a certificate that is not an authority's; 0 leaves the extension out.
  int usages;
  bool omits_key_identifiers;
  bool has_unknown_critical;
  /// RFC 7633.
  bool requires_staple;
  /// Without any extension.
  bool is_version1;
} cloopback_certificate_request;

/// Makes a certificate. The two results are freed with cloopback_free().
bool cloopback_mint(const cloopback_certificate_request *request, char *_Nullable *_Nonnull certificate_pem,
                    char *_Nullable *_Nonnull key_pem, char *error);

enum { CLOOPBACK_OCSP_GOOD = 0, CLOOPBACK_OCSP_REVOKED = 1, CLOOPBACK_OCSP_UNKNOWN = 2 };

/// What an OCSP response says. Revoked means: since `this_update`.
typedef struct {
  const char *certificate_pem;
  const char *issuer_certificate_pem;
  const char *signer_certificate_pem;
  const char *signer_key_pem;
  int status;
  /// Seconds since 1970.
  int64_t this_update;
  int64_t next_update;
} cloopback_ocsp_request;

/// Makes an OCSP response in DER, to be freed with cloopback_free() (ocsp.c).
bool cloopback_ocsp(const cloopback_ocsp_request *request, uint8_t *_Nullable *_Nonnull der, size_t *length,
                    char *error);

/// Verifies the first certificate of `chain_pem` with the others as intermediates. Returns X509_V_OK (0), an
/// X509_V_ERR_ code, or -1 when an input cannot be read.
int cloopback_verify(const char *chain_pem, const char *roots_pem, const char *_Nullable host, int64_t at,
                     char *error);

/// SHA-256 of the SubjectPublicKeyInfo of the first certificate (RFC 7469 §2.4), 32 bytes.
bool cloopback_public_key_sha256(const char *certificate_pem, uint8_t *digest, char *error);

void cloopback_free(void *_Nullable memory);

// MARK: TLS, server side (tls.c)

typedef struct cloopback_tls_context cloopback_tls_context;
typedef struct cloopback_tls cloopback_tls;

typedef struct {
  const char *chain_pem;
  const char *key_pem;
  /// When set, a client certificate that leads to one of these is required.
  const char *_Nullable client_authorities_pem;
  /// 10, 11, 12, 13 for TLS 1.0 to 1.3.
  int minimum_version;
  int maximum_version;
  /// Wire form of RFC 7301 §3.1, in the order of preference; empty for no ALPN.
  const uint8_t *_Nullable alpn;
  size_t alpn_length;
  bool allows_resumption;
  /// An OCSP response in DER for clients that ask for one; empty for none.
  const uint8_t *_Nullable staple;
  size_t staple_length;
  /// Identities for server names (SNI), case ignored; the identity above is for the others.
  const char *_Nonnull const *_Nullable names;
  const char *_Nonnull const *_Nullable name_chains_pem;
  const char *_Nonnull const *_Nullable name_keys_pem;
  size_t name_count;
} cloopback_tls_options;

cloopback_tls_context *_Nullable cloopback_tls_context_new(const cloopback_tls_options *options, char *error);
/// Lets `to` resume the sessions of tickets that `from` gave out.
bool cloopback_tls_context_share_tickets(cloopback_tls_context *from, cloopback_tls_context *to);
void cloopback_tls_context_free(cloopback_tls_context *context);

/// The handshake, on a blocking socket. NULL on failure. The socket stays the caller's.
cloopback_tls *_Nullable cloopback_tls_accept(cloopback_tls_context *context, int descriptor, char *error);
enum { CLOOPBACK_READ_FAILED = -1, CLOOPBACK_READ_TRUNCATED = -2, CLOOPBACK_READ_RESET = -3 };
/// Bytes read, 0 at the end, or a CLOOPBACK_READ_ code: TRUNCATED is an end without close_notify.
ssize_t cloopback_tls_read(cloopback_tls *tls, void *buffer, size_t count);
/// Bytes written (all of them) or -1.
ssize_t cloopback_tls_write(cloopback_tls *tls, const void *buffer, size_t count);
/// Sends a message of TLS 1.3 after the handshake: a session ticket, or an update of our keys (RFC 8446 §4.6).
bool cloopback_tls_send_message(cloopback_tls *tls, bool is_ticket);
/// Sends close_notify, does not wait for the peer's.
void cloopback_tls_close_notify(cloopback_tls *tls);
/// Frees without sending anything.
void cloopback_tls_free(cloopback_tls *tls);
/// Such as "TLSv1.3".
const char *cloopback_tls_version(const cloopback_tls *tls);
bool cloopback_tls_resumed(const cloopback_tls *tls);
/// NULL when the client sent none; valid as long as `tls`.
const char *_Nullable cloopback_tls_server_name(const cloopback_tls *tls);
/// Length of the selected protocol, 0 for none; the bytes are valid as long as `tls`.
size_t cloopback_tls_alpn(const cloopback_tls *tls, const uint8_t *_Nullable *_Nonnull protocol);
/// Subject common name of the client's certificate, to be freed with cloopback_free(); NULL when there is none.
char *_Nullable cloopback_tls_client_name(const cloopback_tls *tls);

// MARK: TLS, client side, for tests of the servers themselves (client.c)

typedef struct cloopback_tls_session cloopback_tls_session;

typedef struct {
  const char *roots_pem;
  /// A name or an IP address.
  const char *host;
  const uint8_t *_Nullable alpn;
  size_t alpn_length;
  /// Both or neither.
  const char *_Nullable chain_pem;
  const char *_Nullable key_pem;
  /// A session to resume.
  cloopback_tls_session *_Nullable session;
  bool asks_staple;
} cloopback_tls_client_options;

/// The handshake, verifying the server. NULL on failure. The socket stays the caller's.
cloopback_tls *_Nullable cloopback_tls_connect(int descriptor, const cloopback_tls_client_options *options,
                                               char *error);
/// The session as it is now: with TLS 1.3, one to resume only after something was read.
cloopback_tls_session *_Nullable cloopback_tls_session_keep(cloopback_tls *tls);
void cloopback_tls_session_free(cloopback_tls_session *session);
/// Length of the stapled OCSP response, 0 for none; the bytes are valid as long as `tls`.
size_t cloopback_tls_staple(const cloopback_tls *tls, const uint8_t *_Nullable *_Nonnull response);
typedef void (*cloopback_certificate_callback)(void *_Nullable context, const uint8_t *der, size_t length);
/// What the server sent, in its order; returns their number. The bytes are valid in the call only.
size_t cloopback_tls_peer_chain(const cloopback_tls *tls, cloopback_certificate_callback found,
                                void *_Nullable context);

// MARK: header compression of HTTP/2, RFC 7541 (hpack.c)

typedef struct cloopback_hpack cloopback_hpack;

typedef void (*cloopback_field_callback)(void *context, const uint8_t *name, size_t name_length, const uint8_t *value,
                                         size_t value_length);

/// A decoder with a table of 4096 bytes; NULL when there is no memory.
cloopback_hpack *_Nullable cloopback_hpack_new(void);
void cloopback_hpack_free(cloopback_hpack *hpack);
/// Decodes one whole header block, and calls `field` for each field, whose bytes are valid in the call only. False when
/// the block is invalid; the decoder is of no use then.
bool cloopback_hpack_decode(cloopback_hpack *hpack, const uint8_t *block, size_t length, cloopback_field_callback field,
                            void *context);

// MARK: sockets (socket.c). Descriptors are close-on-exec; -1 and errno on failure.

/// Listens on 127.0.0.1. Port 0 lets the kernel choose; the port in use is left in `port`.
int cloopback_listen_tcp(uint16_t *port);
/// Limits the receive buffers, and so the windows, of connections that a listener accepts from now on (SO_RCVBUF).
void cloopback_limit_receive_buffers(int listener, int bytes);
/// Listens on a Unix socket path, at most 107 bytes.
int cloopback_listen_unix(const char *path);
/// -1 with EAGAIN when no client waits. The new socket is blocking and, for TCP, has TCP_NODELAY.
int cloopback_accept(int listener);
/// A pipe whose read end becomes readable when the write end is closed.
bool cloopback_pipe(int *read_end, int *write_end);
/// Blocking sockets to such a listener, for tests of the servers themselves.
int cloopback_connect_tcp(uint16_t port);
int cloopback_connect_unix(const char *path);
/// Bytes read, 0 at the end, or a CLOOPBACK_READ_ code.
ssize_t cloopback_receive(int descriptor, void *buffer, size_t count);
/// All of it or -1, without SIGPIPE.
ssize_t cloopback_send(int descriptor, const void *buffer, size_t count);
/// shutdown(SHUT_WR), or both ways.
void cloopback_shutdown(int descriptor, bool both);
/// Makes the next close of a TCP socket a reset. A Unix socket has no reset: it is merely closed.
void cloopback_arm_reset(int descriptor);
/// Bytes that were written and that the peer's kernel has not acknowledged (SIOCOUTQ); 0 where that cannot be told.
int cloopback_unacknowledged(int descriptor);
/// Throws away what has arrived and was not read, so that closing sends FIN and not RST.
void cloopback_drain(int descriptor);
void cloopback_close(int descriptor);
void cloopback_unlink(const char *path);

enum { CLOOPBACK_WAIT_FIRST = 1, CLOOPBACK_WAIT_SECOND = 2, CLOOPBACK_WAIT_HANGUP = 4 };
/// Waits until `first` or `second` is readable or `peer` has been hung up on (descriptors of -1 are left out), or so
/// many milliseconds have passed (-1: for ever). Returns the set of CLOOPBACK_WAIT_ bits, 0 for time out.
int cloopback_wait(int first, int second, int peer, int milliseconds);

// MARK: datagrams on 127.0.0.1 (datagram.c)

/// A non-blocking UDP socket on a port of the kernel's choice, which is left in `port`. -1 and errno on failure.
int cloopback_open_datagrams(uint16_t *port);
/// Length of the next datagram, which may be 0, and the port it came from; -1 where there is none.
ssize_t cloopback_receive_datagram(int descriptor, void *buffer, size_t count, uint16_t *from);
bool cloopback_send_datagram(int descriptor, const void *buffer, size_t count, uint16_t to);
/// Has the kernel answer datagrams with ICMP "port unreachable", or no longer; the port stays taken.
bool cloopback_refuse_datagrams(int descriptor, bool refuses);

// MARK: threads (thread.c)

typedef struct cloopback_thread cloopback_thread;

/// Starts a thread with SIGPIPE blocked, since OpenSSL writes with write(2). `tag` is what cloopback_thread_tag()
/// returns on it. NULL and errno on failure; `body` is then never called.
cloopback_thread *_Nullable cloopback_thread_start(size_t stack_size, const void *tag, void (*body)(void *),
                                                   void *context);
/// Waits for its end and frees the handle.
void cloopback_thread_join(cloopback_thread *thread);
/// Lets it end by itself and frees the handle.
void cloopback_thread_detach(cloopback_thread *thread);
/// NULL on a thread not started here.
const void *_Nullable cloopback_thread_tag(void);

/// Holds SIGPIPE back on the calling thread, for OpenSSL's write(2); tells whether it was not held before.
bool cloopback_hold_pipe_signal(void);
/// Takes a SIGPIPE that came meanwhile, and lets the signal through again, if it was not held before.
void cloopback_release_pipe_signal(bool held);

/// Raises the soft limit of open descriptors to the hard one; returns the limit.
uint64_t cloopback_raise_descriptor_limit(void);

#pragma clang assume_nonnull end
