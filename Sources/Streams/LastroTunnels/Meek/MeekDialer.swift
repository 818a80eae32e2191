// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
internal import HTTPTypes
public import Lastro
internal import LastroHTTP

/// The meek tunnel: a stream as a sequence of HTTP requests, which a web server or a front before it forwards.
///
/// Requests go to the front: its name is resolved, sent in TLS (SNI), and verified in the certificate. The `Host` field
/// has the server behind it, and the path is the server's. The `url` of meek-client is the server's URL here, and its
/// `front` is the host of the front.
///
/// Every stream is a session with a random `X-Session-Id`. Bytes are sent in the bodies of `POST`s and received in the
/// responses, at most 64 KiB each way. After an exchange that carried bytes, the next request follows at once.
/// Otherwise it follows after 100 ms, increased by half each time, up to 5 s (the values of the published meek-client).
///
/// The server determines the destination of a session: host and port of a dial request are only used by the layers
/// above (as the name for TLS).
///
/// - Exactly once: a request that may have reached the server is never resent. Its failure ends the stream.
/// - The protocol cannot signal an end. When the server has finished a session it responds with an error, and reading
///   throws code `connection_lost`. Ending the outgoing direction waits until the server has all bytes, and no write
///   can follow. The server is not informed; use the protocol that meek carries for that.
/// - Closing returns at once. Bytes written earlier are still sent, for at most 5 s, while the process lives. To be
///   sure that they arrive, end the outgoing direction first.
/// - Back-pressure: a write waits while 128 KiB are queued. While more than 192 KiB are unread, no request is sent; a
///   task that writes, or ends its direction, must therefore also read.
public struct MeekDialer: Dialer {
  /// The server and its front.
  package let server: MeekServer
  private let stack: any HTTPNetworkStack
  let below: (any Dialer)?
  private let time: TimeSource
  private let random: RandomSource

  /// Creates a tunnel whose requests are sent by a stack.
  ///
  /// All features of the stack apply: interceptors, pins, proxies. Its judges are not asked whether the dialed host
  /// allows plaintext; a `TLSDialer` over this dialer asks its own judges.
  ///
  /// - Parameters:
  ///   - front: the URL to contact, `http` or `https`, without path, query and user. Default `nil`: the server itself.
  ///   - serverURL: the URL of the meek server, with the same scheme as the front.
  ///   - stack: the stack that sends the requests.
  ///   - time: the time source for pauses. Default: the system's clock.
  ///   - random: the source of session IDs. Default: the system's generator.
  /// - Throws: `ConfigurationError` if a URL cannot be used.
  public init(
    to front: URL? = nil, serverURL: URL, through stack: any HTTPNetworkStack, time: TimeSource = .continuous,
    random: RandomSource = .system
  ) throws(ConfigurationError) {
    let server = try MeekServer(to: front ?? serverURL, serverURL: serverURL)
    self.init(server, through: stack, time: time, random: random)
  }

  /// Creates a tunnel whose requests are sent by a stack.
  package init(
    _ server: MeekServer, through stack: any HTTPNetworkStack, time: TimeSource = .continuous,
    random: RandomSource = .system
  ) {
    self.server = server
    self.stack = stack
    below = nil
    self.time = time
    self.random = random
  }

  /// Creates a tunnel whose requests are sent over streams of another dialer, as HTTP/1.1 by Lastro itself.
  ///
  /// For an `https` server, the dialer below must support TLS.
  ///
  /// - Parameters:
  ///   - front: the URL to contact, `http` or `https`, without path, query and user. Default `nil`: the server itself.
  ///   - serverURL: the URL of the meek server, with the same scheme as the front.
  ///   - below: the dialer that opens the streams.
  ///   - time: the time source for pauses. Default: the system's clock.
  ///   - random: the source of session IDs. Default: the system's generator.
  /// - Throws: `ConfigurationError` if a URL cannot be used.
  public init(
    to front: URL? = nil, serverURL: URL, over below: any Dialer, time: TimeSource = .continuous,
    random: RandomSource = .system
  ) throws(ConfigurationError) {
    let server = try MeekServer(to: front ?? serverURL, serverURL: serverURL)
    self.init(server, over: below, time: time, random: random)
  }

  /// Creates a tunnel whose requests are sent over streams of another dialer.
  package init(
    _ server: MeekServer, over below: any Dialer, time: TimeSource = .continuous, random: RandomSource = .system
  ) {
    self.server = server
    var limits = DialerTransport.Configuration.bare(time, idleConnections: 1)
    // If a server closes an idle connection while a request is being sent, it is unknown whether it received the
    // request.
    limits.idleLifetime = .seconds(2)
    stack = TransportNetworkStack(transport: DialerTransport(below, role: .proxy, configuration: limits))
    self.below = below
    self.time = time
    self.random = random
  }

  /// Opens a session by sending its first request, which has no payload.
  ///
  /// - Throws: `TransportError` of the request; code `connection_lost` for a response other than 200.
  public func dial(_ request: DialRequest) async throws(TransportError) -> any ByteStream {
    guard request.tls == nil else { throw .noTLS("MeekDialer") }
    _ = try NestedTarget(host: request.host, port: request.port)
    try checkPlaintext(request)
    let session = MeekSession(time: time, exchange: try exchange(request.connection))
    let stream = MeekStream(session, time: time)
    let outcome = await interruptible(within: request.connectTimeout, time: time) {
      () async -> Result<Void, TransportError> in
      do throws(TransportError) { return .success(try await session.open()) } catch { return .failure(error) }
    }
    do throws(TransportError) {
      switch outcome {
      case .success(let opened): try opened.get()
      case .failure(.cancelled): throw .cancelled()
      case .failure(.limit): throw .dialTimedOut(within: request.connectTimeout)
      }
    } catch {
      session.close()
      throw error.beforeSending(within: request.connectTimeout).reaching("the meek server \(server)")
    }
    return stream
  }

  /// Checks the request with the dialer below, if there is one.
  ///
  /// - Throws: `TransportError`, like the dialer below.
  public func checkPlaintext(_ request: DialRequest) throws(TransportError) { try below?.checkPlaintext(request) }

  /// Returns the revisions of the dialer below, if there is one.
  public func trustRevisions(for request: DialRequest) -> [UInt64] { below?.trustRevisions(for: request) ?? [] }

  private func exchange(_ connection: ConnectionOptions?) throws(TransportError) -> MeekSession.Exchange {
    var options = RequestOptions()
    options.maximumBodyBytes = MeekSession.payloadBytes
    options.redirects = RedirectPolicy.none
    options.idempotency = .notIdempotent
    options.hostField = server.hostField
    // The client's certificate is for the host, not for the front. Over streams, the role withholds the default
    // certificate.
    options.connection = connection
    options.connection?.tls.identity = nil
    var template = try ResourceRequest(
      method: .post, url: server.requestURL,
      headers: ["Content-Type": "application/octet-stream", "X-Session-Id": sessionID()], options: options)
    if let host = server.hostField { try template.setHeader("Host", host) }
    return { [stack, template] body async throws(TransportError) -> Data in
      var request = template
      request.body = .raw(body, contentType: nil)
      return try await Self.answer(stack, request)
    }
  }

  private static func answer(
    _ stack: any HTTPNetworkStack, _ request: ResourceRequest
  ) async throws(TransportError) -> Data {
    let status: Int?
    do throws(HTTPFetchError<any Error>) {
      let answer = try await stack.fetch(RawHTTPResource(request: request))
      if answer.response.status == .ok { return answer.value }
      status = answer.response.status.code
    } catch {
      guard let code = error.statusCode?.code, error.transportError == nil else {
        throw error.meekFailure
      }
      status = code
    }
    throw TransportError(
      stage: .response, code: .connectionLost, message: "the meek server answered with \(status ?? 0)",
      hint: "dial again if the session is over, else check that it is a meek server", requestSent: true)
  }

  /// Returns 128 random bits in hexadecimal.
  private func sessionID() -> String {
    [random.next(), random.next()].map { half in
      let text = String(half, radix: 16)
      return String(repeating: "0", count: 16 - text.count) + text
    }.joined()
  }
}

extension HTTPFetchError where APIError == any Error {
  fileprivate var meekFailure: TransportError {
    if isCancelled { return .cancelled(requestSent: attempts.contains(where: \.requestSent)) }
    var failure =
      transportError
      ?? TransportError(stage: stage, code: code, message: message, hint: hint, requestSent: true)
    if attempts.contains(where: \.requestSent) { failure.requestSent = true }
    return failure
  }
}
