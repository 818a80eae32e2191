// SPDX-License-Identifier: Apache-2.0

/// A stable word for the reason of a failed fetch, within its ``FailureStage``.
///
/// The set is open: a later version, or another transport, may add codes, so a `switch` over it needs a `default`.
public struct FailureCode: RawRepresentable, Sendable, Hashable, Codable, CustomStringConvertible {
  /// The word, such as `connect_timeout`.
  public let rawValue: String

  /// Wraps a word.
  public init(rawValue: String) { self.rawValue = rawValue }

  /// Wraps a word.
  package init(_ rawValue: String) { self.rawValue = rawValue }

  /// The word.
  public var description: String { rawValue }
}

extension FailureCode {
  // MARK: request

  /// The URL is not an absolute `http` or `https` URL with a host and a valid port.
  public static let invalidURL = Self("invalid_url")
  /// The scheme is neither `http` nor `https`.
  public static let unsupportedScheme = Self("unsupported_scheme")
  /// The method is not a token of RFC 9110.
  public static let invalidMethod = Self("invalid_method")
  /// A header field's name or value has characters that RFC 9110 §5.5 forbids.
  public static let invalidHeader = Self("invalid_header")
  /// `Content-Length`, `Transfer-Encoding` or another framing field that contradicts the body.
  public static let conflictingFraming = Self("conflicting_framing")
  /// The body could not be made, read or replayed.
  public static let invalidBody = Self("invalid_body")
  /// The engine does not support the value of an option.
  public static let invalidOption = Self("invalid_option")
  /// The base request maker or an interceptor threw an error. The stage is `request`; if the error was an
  /// ``HTTPFetchError``, it is the stage of that fetch.
  public static let requestMakingFailed = Self("request_making_failed")
  /// No access token was available, so nothing of the request was sent. The stage is that of the cause, such as
  /// `connect` if the token endpoint is down.
  public static let tokenUnavailable = Self("token_unavailable")
  /// The token endpoint refused the request (RFC 6749 §5.2), for example because of a wrong client secret. The stage is
  /// `http`.
  public static let tokenRefused = Self("token_refused")

  /// The archive that a transport replays does not contain the request.
  public static let notRecorded = Self("not_recorded")
  /// The body of an exchange was not recorded, or only in part.
  public static let incompleteRecording = Self("incomplete_recording")

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
  /// The server requires a client certificate, and the client sent none.
  public static let clientCertificateRequired = Self("client_certificate_required")
  /// The certificate chain does not lead to a trusted root.
  public static let untrustedCertificate = Self("untrusted_certificate")
  /// The certificate is not for this host.
  public static let hostMismatch = Self("host_mismatch")
  /// The certificate has expired or is not yet valid.
  public static let certificateExpired = Self("certificate_expired")
  /// The server did not staple a good OCSP response, although one is required.
  public static let certificateStatusInvalid = Self("certificate_status_invalid")
  /// The configured CA file, client certificate or key is not usable.
  public static let invalidTLSConfiguration = Self("invalid_tls_configuration")

  // MARK: trust

  /// None of the keys in the verified chain is pinned.
  public static let pinMismatch = Self("pin_mismatch")
  /// The policy for the host has expired, and refuses servers after its expiry.
  public static let policyExpired = Self("policy_expired")
  /// The host has no policy, and hosts without a policy are refused.
  public static let hostNotPinned = Self("host_not_pinned")
  /// The certificate does not prove the SPIFFE ID that the request requires.
  public static let spiffeIDMismatch = Self("spiffe_id_mismatch")
  /// The request uses plain `http`, but the host's key is pinned, or a SPIFFE ID is required.
  public static let plaintextRefused = Self("plaintext_refused")
  /// A custom trust judge refused the server, or the connection has no verified chain to judge. The message says which.
  public static let trustRefused = Self("trust_refused")

  // MARK: policy

  /// The egress policy denies the address of the host, or the route to it.
  public static let egressDenied = Self("egress_denied")

  // MARK: send, response

  /// Sending failed midway.
  public static let sendFailed = Self("send_failed")
  /// The connection closed before a response arrived, and the request must not be retried automatically.
  public static let connectionLost = Self("connection_lost")
  /// The response head, or the chunks of the body, violate the grammar of RFC 9112 or RFC 9113.
  public static let malformedResponse = Self("malformed_response")
  /// The body ended before its announced length, before its end marker, or before the end of its compressed data.
  public static let truncatedBody = Self("truncated_body")
  /// The server violated HTTP/2, or reset the stream.
  public static let http2Failure = Self("http2_failure")
  /// The `Content-Encoding` was not requested, names more than one coding, or does not match the body.
  public static let badContentEncoding = Self("bad_content_encoding")
  /// Receiving failed midway.
  public static let receiveFailed = Self("receive_failed")
  /// A 2xx response lacks the body that the resource requires.
  public static let noData = Self("no_data")

  // MARK: streams

  /// A TLS stream ended without close_notify, so bytes may be missing.
  public static let truncatedStream = Self("truncated_stream")
  /// The stream was closed locally.
  public static let streamClosed = Self("stream_closed")
  /// Another task is already reading from the stream, or writing to it.
  public static let operationInProgress = Self("operation_in_progress")
  /// This dialer or transport does not support the request.
  public static let unsupported = Self("unsupported")
  /// The server, or a proxy, violated the protocol that runs over the stream.
  public static let protocolViolation = Self("protocol_violation")

  // MARK: decode

  /// The payload does not decode into the model.
  public static let undecodable = Self("undecodable")

  // MARK: limit

  /// The decoded body is larger than the limit.
  public static let bodyTooLarge = Self("body_too_large")
  /// A compressed body expands like a decompression bomb.
  public static let decompressionBomb = Self("decompression_bomb")
  /// The windows of the compressed bodies that are received at once need more memory than allowed.
  public static let decodingMemoryFull = Self("decoding_memory_full")
  /// The response head is larger than the limit, or has more fields than allowed.
  public static let headTooLarge = Self("head_too_large")
  /// The server sent more interim (1xx) responses than the limit.
  public static let tooManyInterimResponses = Self("too_many_interim_responses")
  /// The queue in front of the engine is full.
  public static let queueFull = Self("queue_full")

  // MARK: timeout

  /// No connection was opened within the connect timeout.
  public static let connectTimeout = Self("connect_timeout")
  /// An attempt took longer than the attempt timeout.
  public static let attemptTimeout = Self("attempt_timeout")
  /// No byte was sent or received for as long as the idle timeout.
  public static let idleTimeout = Self("idle_timeout")
  /// No event arrived on a stream within `firstEvent` of `events`, or no JSON text within `firstText` of `jsonLines`.
  public static let firstEventTimeout = Self("first_event_timeout")
  /// The whole call took longer than the total timeout.
  public static let totalTimeout = Self("total_timeout")

  // MARK: redirect

  /// The call was redirected more often than the limit.
  public static let tooManyRedirects = Self("too_many_redirects")
  /// The redirects lead back to a request that was already made.
  public static let redirectLoop = Self("redirect_loop")
  /// A redirect leads from https to http, which is refused.
  public static let insecureRedirect = Self("insecure_redirect")
  /// The `Location` of a redirect is not a URL that may be followed.
  public static let invalidRedirect = Self("invalid_redirect")
  /// The redirect requires the body to be sent again, but the body cannot be replayed.
  public static let redirectBodyNotReplayable = Self("redirect_body_not_replayable")

  // MARK: cancelled, http

  /// The caller cancelled the call.
  public static let cancelled = Self("cancelled")
  /// The stack was shut down.
  public static let shutDown = Self("shut_down")
  /// The server responded with a status outside 200–299.
  public static let unexpectedStatus = Self("unexpected_status")
  /// The engine reported a failure for which there is no more specific code.
  public static let engineFailure = Self("engine_failure")
}
