// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
public import Lastro
internal import LastroHTTP

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// The meek tunnel: a stream as a sequence of HTTP requests, which a web server, or a front before it, passes on.
///
/// Every stream is a session with a random `X-Session-Id`. Bytes go up in the bodies of `POST`s and come down in the
/// answers, 64 KiB at most each way. After a request that moved something the next follows at once; otherwise after 100
/// ms, half as much longer each time, 5 s at most (the published meek-client's numbers).
///
/// A session leads where its server leads: host and port of a request to dial are for the layers above (the name for
/// TLS).
///
/// - Exactly once: a request that may have reached the server is never sent again. Its failure ends the stream.
/// - The protocol has no end of its own. When the server is done with a session it answers with an error, and reading
///   throws code `connection_lost`. Ending one direction waits until the server has all bytes, and nothing can be
///   written after it; but the server does not learn of it. What has to be told is told in the protocol that meek
///   carries.
/// - Closing returns at once. Bytes that were written before still go out, for 5 s at most, as long as the process
///   lives; ending one direction first makes sure of them.
/// - Back-pressure: writing waits behind 128 KiB; while 192 KiB lie unread there are no requests, so a task that
///   writes, or ends its direction, has to read too.
public struct MeekDialer: Dialer {
  /// The server, and its front.
  public let server: MeekServer
  private let stack: any HTTPNetworkStack
  let below: (any Dialer)?
  private let time: TimeSource
  private let random: RandomSource

  /// Makes a tunnel whose requests a stack makes.
  ///
  /// Nothing of the stack's is bypassed: interceptors, pins, proxies. Its judges are not asked whether the host that is
  /// dialed may be talked to in the clear; a `TLSDialer` over this dialer asks its own.
  ///
  /// - Parameters:
  ///   - server: the server, and its front.
  ///   - stack: makes the requests.
  ///   - time: measures pauses. Default: the system's clock.
  ///   - random: makes session ids. Default: the system's generator.
  public init(
    _ server: MeekServer, through stack: any HTTPNetworkStack, time: TimeSource = .continuous,
    random: RandomSource = .system
  ) {
    self.server = server
    self.stack = stack
    below = nil
    self.time = time
    self.random = random
  }

  /// Makes a tunnel whose requests go over streams of another dialer: HTTP/1.1, spoken by Lastro itself.
  ///
  /// For an `https` server the dialer below has to do TLS.
  ///
  /// - Parameters:
  ///   - server: the server, and its front.
  ///   - below: opens the streams.
  ///   - time: measures pauses. Default: the system's clock.
  ///   - random: makes session ids. Default: the system's generator.
  public init(
    _ server: MeekServer, over below: any Dialer, time: TimeSource = .continuous, random: RandomSource = .system
  ) {
    self.server = server
    var limits = DialerTransport.Configuration.bare(time, idleConnections: 1)
    // A server that closes an idle connection, just when a request is on its way, leaves open whether it got it.
    limits.idleLifetime = .seconds(2)
    stack = TransportNetworkStack(transport: DialerTransport(below, role: .proxy, configuration: limits))
    self.below = below
    self.time = time
    self.random = random
  }

  /// Opens a session: makes its first request, which carries nothing.
  ///
  /// - Throws: `TransportError`, of the request; code `connection_lost` for an answer other than 200.
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

  /// Asks the dialer below, where there is one.
  ///
  /// - Throws: `TransportError`, as the dialer below.
  public func checkPlaintext(_ request: DialRequest) throws(TransportError) { try below?.checkPlaintext(request) }

  /// Returns the revisions of the dialer below, where there is one.
  public func trustRevisions(for request: DialRequest) -> [UInt64] { below?.trustRevisions(for: request) ?? [] }

  private func exchange(_ connection: ConnectionOptions?) throws(TransportError) -> MeekSession.Exchange {
    var options = RequestOptions()
    options.maximumBodyBytes = MeekSession.payloadBytes
    options.redirects = RedirectPolicy.none
    options.idempotency = .notIdempotent
    options.hostField = server.hostField
    // The client's certificate is for the host, which is not the front. Over streams, the role keeps back the default
    // one.
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
      hint: "dial anew if the session is over, else check that it is a meek server", requestSent: true)
  }

  /// 128 random bits.
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
