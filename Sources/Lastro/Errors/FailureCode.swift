// SPDX-License-Identifier: Apache-2.0

/// A stable word that says why a fetch failed, within its ``FailureStage``.
///
/// It is an open set: a later version, or another transport, may add codes, so a `switch` over it needs a `default`.
public struct FailureCode: RawRepresentable, Sendable, Hashable, Codable, CustomStringConvertible {
  /// The word, such as `connect_timeout`.
  public let rawValue: String

  /// Wraps a word.
  public init(rawValue: String) { self.rawValue = rawValue }

  /// Wraps a word.
  public init(_ rawValue: String) { self.rawValue = rawValue }

  /// The word.
  public var description: String { rawValue }
}

extension FailureCode {
  // MARK: request

  /// The URL is not an absolute `http` or `https` URL with a host and a valid port.
  public static let invalidURL = Self("invalid_url")
  /// A scheme other than `http` and `https`.
  public static let unsupportedScheme = Self("unsupported_scheme")
  /// A method that is no RFC 9110 token.
  public static let invalidMethod = Self("invalid_method")
  /// A header field name or value with characters RFC 9110 §5.5 forbids.
  public static let invalidHeader = Self("invalid_header")
  /// `Content-Length`, `Transfer-Encoding` or another framing field that contradicts the body.
  public static let conflictingFraming = Self("conflicting_framing")
  /// The body could not be made, read or replayed.
  public static let invalidBody = Self("invalid_body")
  /// An option value the engine cannot honour.
  public static let invalidOption = Self("invalid_option")
  /// The base request maker or an interceptor threw. The stage is `request`, or that of the fetch that failed where it
  /// threw an ``HTTPFetchError``.
  public static let requestMakingFailed = Self("request_making_failed")
  /// There was no access token to be had, so that nothing of the request was sent. The stage is that of the cause, such
  /// as `connect` where the token endpoint is down.
  public static let tokenUnavailable = Self("token_unavailable")
  /// The token endpoint refused (RFC 6749 §5.2), such as a wrong client secret. The stage is `http`.
  public static let tokenRefused = Self("token_refused")

  // MARK: resolve, connect, proxy, tls

  /// The name has no address.
  public static let hostNotFound = Self("host_not_found")
  /// No server listens at the port, or the network is unreachable.
  public static let connectFailed = Self("connect_failed")
  /// The proxy's name has no address.
  public static let proxyNotFound = Self("proxy_not_found")
  /// The proxy cannot be reached.
  public static let proxyConnectFailed = Self("proxy_connect_failed")
  /// The proxy answered CONNECT, or the SOCKS handshake, with a refusal.
  public static let proxyRefused = Self("proxy_refused")
  /// The TLS handshake failed before certificates were judged.
  public static let handshakeFailed = Self("handshake_failed")
  /// The server wants a client certificate, and got none.
  public static let clientCertificateRequired = Self("client_certificate_required")
  /// The chain leads to no trusted root.
  public static let untrustedCertificate = Self("untrusted_certificate")
  /// The certificate is not for this host.
  public static let hostMismatch = Self("host_mismatch")
  /// The certificate is past its validity period, or not yet in it.
  public static let certificateExpired = Self("certificate_expired")
  /// The server stapled no good OCSP response, where one is required.
  public static let certificateStatusInvalid = Self("certificate_status_invalid")
  /// The configured CA file, client certificate or key cannot be used.
  public static let invalidTLSConfiguration = Self("invalid_tls_configuration")

  // MARK: trust

  /// None of the keys of the verified chain is pinned.
  public static let pinMismatch = Self("pin_mismatch")
  /// The policy for the host has expired, and refuses then.
  public static let policyExpired = Self("policy_expired")
  /// No policy is for the host, and hosts without one are refused.
  public static let hostNotPinned = Self("host_not_pinned")
  /// The request is for plain `http`, and the host's key is pinned.
  public static let plaintextRefused = Self("plaintext_refused")
  /// A judge of the application's own refused the server, or there is no proof of its trust: the message says which.
  public static let trustRefused = Self("trust_refused")

  // MARK: policy

  /// The egress policy denies the address of the host, or the way to it.
  public static let egressDenied = Self("egress_denied")

  // MARK: send, response

  /// Sending failed midway.
  public static let sendFailed = Self("send_failed")
  /// The connection went away before a response came, and the request must not be sent again without being told to.
  public static let connectionLost = Self("connection_lost")
  /// The response head, or the chunks of the body, break the grammar of RFC 9112 or RFC 9113.
  public static let malformedResponse = Self("malformed_response")
  /// The body ended before its announced or proper end, or before that of its compressed data.
  public static let truncatedBody = Self("truncated_body")
  /// The server broke HTTP/2, or reset the stream.
  public static let http2Failure = Self("http2_failure")
  /// The body's `Content-Encoding` was not asked for, is more than one coding, or is not what the body has.
  public static let badContentEncoding = Self("bad_content_encoding")
  /// Receiving failed midway.
  public static let receiveFailed = Self("receive_failed")
  /// A 2xx answer without the body the resource requires.
  public static let noData = Self("no_data")

  // MARK: streams

  /// A TLS stream ended without close_notify: bytes may be missing.
  public static let truncatedStream = Self("truncated_stream")
  /// The stream was closed on our side.
  public static let streamClosed = Self("stream_closed")
  /// Another task reads, or writes, at this moment.
  public static let operationInProgress = Self("operation_in_progress")
  /// What was asked for is something this dialer or transport does not do.
  public static let unsupported = Self("unsupported")
  /// The server, or a proxy, broke the protocol that is spoken over the stream.
  public static let protocolViolation = Self("protocol_violation")

  // MARK: decode

  /// The payload does not decode into the model.
  public static let undecodable = Self("undecodable")

  // MARK: limit

  /// The decoded body is larger than the limit.
  public static let bodyTooLarge = Self("body_too_large")
  /// A compressed body expands like a decompression bomb.
  public static let decompressionBomb = Self("decompression_bomb")
  /// The response head is larger, or has more fields, than the limit.
  public static let headTooLarge = Self("head_too_large")
  /// More interim (1xx) responses than the limit.
  public static let tooManyInterimResponses = Self("too_many_interim_responses")
  /// The queue in front of the engine is full.
  public static let queueFull = Self("queue_full")

  // MARK: timeout

  /// No connection within the connect timeout.
  public static let connectTimeout = Self("connect_timeout")
  /// One attempt took longer than the attempt timeout.
  public static let attemptTimeout = Self("attempt_timeout")
  /// No byte moved for as long as the idle timeout.
  public static let idleTimeout = Self("idle_timeout")
  /// The whole call took longer than the total timeout.
  public static let totalTimeout = Self("total_timeout")

  // MARK: redirect

  /// More redirects than the limit.
  public static let tooManyRedirects = Self("too_many_redirects")
  /// The redirects come back to a request already made.
  public static let redirectLoop = Self("redirect_loop")
  /// From https to http, which is refused.
  public static let insecureRedirect = Self("insecure_redirect")
  /// A `Location` that is no URL that may be followed.
  public static let invalidRedirect = Self("invalid_redirect")
  /// The redirect needs the body again, and the body cannot be replayed.
  public static let redirectBodyNotReplayable = Self("redirect_body_not_replayable")

  // MARK: cancelled, http

  /// The caller cancelled.
  public static let cancelled = Self("cancelled")
  /// The stack was shut down.
  public static let shutDown = Self("shut_down")
  /// A status outside 200–299.
  public static let unexpectedStatus = Self("unexpected_status")
  /// Something the engine reported that has no better word.
  public static let engineFailure = Self("engine_failure")
}
