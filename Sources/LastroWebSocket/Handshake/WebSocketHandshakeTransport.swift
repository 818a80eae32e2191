// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import Lastro
internal import LastroExchange
internal import LastroSupport
internal import LastroWire

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// Performs an exchange that asks for a WebSocket, over a `Dialer`: HTTP/1.1, one connection for each (RFC 6455 §4.1).
///
/// As a `Transport` it stands below the pipeline, so that interceptors, redirects, retries and masking hold for a
/// handshake as for any fetch. A stream that was upgraded is not part of the answer: it is kept for whoever began the call.
final class WebSocketHandshakeTransport: Transport {
  /// A stream that speaks WebSocket from here on.
  struct Upgraded: Sendable {
    var stream: any ByteStream
    var agreement: WebSocketHandshake.Agreement
    /// Bytes that came right behind the answer's head.
    var leftover: [UInt8]
  }

  /// Longest time spent on the body of a refusal. What matters is the status.
  private static let patience = Duration.seconds(2)

  private let dialer: any Dialer
  private let configuration: WebSocketConfiguration
  private let random: RandomSource
  private let time: TimeSource
  private let upgraded = Lock<Upgraded?>(nil)
  /// Scheme and authority of the first request: address and server name are for no other.
  private let firstOrigin = Lock<String?>(nil)

  init(
    dialer: any Dialer, configuration: WebSocketConfiguration, random: RandomSource, time: TimeSource
  ) {
    self.dialer = dialer
    self.configuration = configuration
    self.random = random
    self.time = time
  }

  /// The stream of the latest exchange, once.
  func takeUpgraded() -> Upgraded? {
    upgraded.withLock { upgraded in
      defer { upgraded = nil }
      return upgraded
    }
  }

  func execute(_ request: TransferRequest) async throws(TransportError) -> TransferResponse {
    let outcome = await interruptible(within: request.deadline, time: time) { () -> Result<Answer, TransportError> in
      do throws(TransportError) {
        return .success(try await self.exchange(request))
      } catch {
        return .failure(error)
      }
    }
    switch outcome {
    case .success(let result):
      let answer = try result.get()
      // Kept only now: a call that was given up must not leave a stream behind.
      upgraded.withLock { $0 = answer.upgraded }
      return answer.response
    case .failure(.cancelled): throw .cancelled(requestSent: true)
    case .failure(.limit):
      throw TransportError(
        stage: .timeout, code: request.deadlineCode, message: "the server did not answer the handshake in time",
        requestSent: true)
    }
  }

  private struct Answer: Sendable {
    var response: TransferResponse
    var upgraded: Upgraded?
  }

  private func exchange(_ request: TransferRequest) async throws(TransportError) -> Answer {
    let countdown = Countdown(request.deadline)
    try check(request)
    let handshake = WebSocketHandshake(
      nonce: (random.next(), random.next()), subprotocols: configuration.subprotocols, offer: configuration.offer)
    let bytes = try handshake.request(request.head)
    let stream = try await dialer.dial(try dialRequest(request))
    var exchange = StreamExchange(
      over: stream, asking: .upgrade,
      // The deadline is measured by `time`, around all of it.
      within: ExchangeTimes(Countdown(nil), idle: request.idleTimeout, code: request.deadlineCode))
    do throws(TransportError) {
      try await exchange.send(bytes)
      let answer = try await exchange.receiveHead()
      return try await take(answer, request, handshake, &exchange, countdown)
    } catch {
      stream.close()
      var error = error
      error.requestSent = true
      if error.facts == nil { error.facts = exchange.facts }
      throw error
    }
  }

  private func take(
    _ answer: ResponseHead, _ request: TransferRequest, _ handshake: WebSocketHandshake,
    _ exchange: inout StreamExchange, _ countdown: Countdown
  ) async throws(TransportError) -> Answer {
    let head = try HTTPResponse(answer).withLocationForHTTP
    switch answer.status {
    case 101:
      do throws(WebSocketHandshakeFailure) {
        let agreement = try handshake.check(answer)
        return Answer(
          response: TransferResponse(head: head, body: ResponseBody(Data()), facts: exchange.facts),
          upgraded: Upgraded(stream: exchange.stream, agreement: agreement, leftover: exchange.takeLeftover()))
      } catch {
        throw TransportError(
          stage: .response, code: .protocolViolation, message: error.message,
          hint: "the server, or something before it, does not speak WebSocket", head: head)
      }
    case 200...299:
      throw TransportError(
        stage: .response, code: .protocolViolation,
        message: "the server answered \(answer.status) and not 101 Switching Protocols",
        hint: "look whether the path is that of a WebSocket", head: head)
    default:
      var body = Data()
      var cut: BodyCut?
      if !request.dropsRedirectBodies || !head.isRedirect {
        // Half of what is left, so that the status is told before the deadline passes.
        let patience = countdown.left.map { min(Self.patience, $0 / 2) } ?? Self.patience
        (body, cut) = await exchange.salvageBody(upTo: request.errorBytes, within: patience)
      }
      exchange.stream.close()
      var facts = exchange.facts
      facts.bodyCut = cut
      return Answer(response: TransferResponse(head: head, body: ResponseBody(body), facts: facts))
    }
  }

  // MARK: the request

  private func check(_ request: TransferRequest) throws(TransportError) {
    guard request.head.method == .get else {
      throw .refused(.invalidMethod, "a WebSocket handshake with \(request.head.method)", hint: "it is always a GET")
    }
    guard request.body.isEmpty else {
      throw .refused(.invalidBody, "a WebSocket handshake with a body", hint: "leave it out")
    }
  }

  private func dialRequest(_ request: TransferRequest) throws(TransportError) -> DialRequest {
    let text = request.head.authority ?? ""
    let authority = try Authority(text[...])
    let isSecure = request.head.scheme == "https"
    var host = authority.host
    if host.hasPrefix("[") { host = String(host.dropFirst().dropLast()) }
    let origin = (isSecure ? "https://" : "http://") + text
    let isFirst = firstOrigin.withLock { first in
      first = first ?? origin
      return first == origin
    }
    let port = authority.port ?? (isSecure ? 443 : 80)
    let address = isFirst ? configuration.address : nil
    if !isSecure, address != nil {
      // Pins are for the host that the URL names, of which the dialer else learns nothing.
      try dialer.checkPlaintext(DialRequest(host: host, port: port, connection: request.connection))
    }
    let serverName = isFirst ? configuration.serverName ?? (address == nil ? nil : host) : nil
    return DialRequest(
      host: address?.host ?? host, port: address?.port ?? port,
      tls: isSecure ? DialRequest.TLS(serverName: serverName, applicationProtocols: ["http/1.1"]) : nil,
      connection: request.connection, connectTimeout: request.connectTimeout)
  }
}

extension TransferRequest {
  /// Most bytes of the body of a refusal.
  fileprivate var errorBytes: Int {
    let limit =
      switch delivery {
      case .collected(let maximum): maximum
      case .streamed(let maximum): maximum ?? RequestOptions.defaultMaximumBodyBytes
      case .streamedOnSuccess(_, let maximum): maximum
      }
    return min(limit, maximumErrorBytes ?? limit)
  }
}
