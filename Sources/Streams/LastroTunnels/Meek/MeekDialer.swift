// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import HTTPTypes
package import Lastro
internal import LastroHTTP

/// The dialer of ``Tunnel/meek(to:serverURL:through:time:random:)`` and
/// ``Tunnel/meek(to:serverURL:over:time:random:)``.
package struct MeekDialer: Dialer {
  /// The server and its front.
  package let server: MeekServer
  private let stack: any HTTPNetworkStack
  let below: (any Dialer)?
  private let time: TimeSource
  private let random: RandomSource

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
  /// - Throws: `TransportError` of the request; code `connection_lost` for a response other than 200. Stage `request`:
  ///   code `unsupported` for TLS, `invalid_option` for a Unix socket.
  package func dial(_ request: DialRequest) async throws(TransportError) -> any ByteStream {
    guard request.tls == nil else { throw .noTLS("the meek tunnel") }
    guard request.connection?.unixSocketPath == nil else {
      throw .refused(
        .invalidOption, "a meek server cannot connect to a Unix socket",
        hint: "leave unixSocketPath out, or dial without the meek server")
    }
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
  package func checkPlaintext(_ request: DialRequest) throws(TransportError) { try below?.checkPlaintext(request) }

  /// Returns the revisions of the dialer below, if there is one.
  package func trustRevisions(for request: DialRequest) -> [UInt64] { below?.trustRevisions(for: request) ?? [] }

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
      let answer = try await stack.fetch(RawHTTPResource.raw(request))
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

extension MeekDialer: LayeredDialer {
  package var dialerBelow: (any Dialer)? { below }
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
