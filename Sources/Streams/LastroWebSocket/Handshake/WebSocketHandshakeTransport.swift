// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import Lastro
internal import LastroHTTP
internal import LastroSupport
internal import LastroWire

/// Performs a WebSocket handshake over a `Dialer`: over HTTP/1.1, with a separate connection for each (RFC 6455 §4.1), or
/// as an extended CONNECT on an HTTP/2 connection of the dialer's engine (RFC 8441), if the configuration allows it.
///
/// As a `Transport` it is below the pipeline, so that interceptors, redirects, retries and masking apply to a handshake
/// as to any fetch. The body of the response is the upgraded stream, as a ``WebSocketStream``.
struct WebSocketHandshakeTransport: Transport {
  /// The longest time spent reading the body of a refusal, whose status is what matters.
  private static let patience = Duration.seconds(2)

  private let dialer: WebSocketDialer
  private let carrier: DialerTransport
  private let configuration: WebSocketConfiguration
  private let random: RandomSource
  private let time: TimeSource
  private let base: any Dialer

  init(
    dialer: any Dialer, configuration: WebSocketConfiguration, random: RandomSource, time: TimeSource
  ) {
    self.configuration = configuration
    self.random = random
    self.time = time
    base = dialer
    var limits = DialerTransport.Configuration.bare(time)
    limits.errorBodyTime = Self.patience
    self.dialer = WebSocketDialer(dialer, configuration: configuration)
    carrier = DialerTransport(self.dialer, role: .server, configuration: limits)
  }

  func execute(_ request: TransferRequest) async throws(TransportError) -> TransferResponse {
    try check(request)
    let handshake = WebSocketHandshake(
      nonce: (random.next(), random.next()), subprotocols: configuration.subprotocols, offer: configuration.offer)
    var asked = request
    asked.allowsResend = false
    asked.delivery = .streamedOnSuccess(maximumBytes: nil, errorBytes: request.errorBytes)
    do throws(TransportError) {
      if configuration.http2 == .whenAnnounced {
        let began = time.now()
        if let answer = try await tunnel(asked, handshake) { return answer }
        asked.deadline = request.deadline.map { $0 - (time.now() - began) }
      }
      asked.head = try handshake.asked(request.head)
      return try upgradedResponse(try await carrier.execute(asked), handshake)
    } catch {
      guard error.stage == .timeout, error.code == request.deadlineCode, error.head == nil else { throw error }
      var late = TransportError.unopenedWebSocket(request)
      late.facts = error.facts
      throw late
    }
  }

  /// Performs the handshake over HTTP/2; returns `nil`, with nothing sent, if HTTP/1.1 must be used.
  private func tunnel(
    _ request: TransferRequest, _ handshake: WebSocketHandshake
  ) async throws(TransportError) -> TransferResponse? {
    let version = request.connection?.httpVersion, isTLS = request.head.scheme == "https"
    guard configuration.address == nil, configuration.serverName == nil,
      version == .http2 || isTLS && version != .http1, let engine = base as? any Transport
    else { return nil }
    var asked = request
    asked.head = try handshake.asked(request.head, isTunnel: true)
    // Read before the request is sent: a change of the rules meanwhile makes the socket outdated.
    let tls = isTLS ? DialRequest.TLS() : nil
    let origin = Origin(request.head).map {
      LinkOrigin(base, DialRequest(host: $0.host, port: $0.port, tls: tls, connection: request.connection))
    }
    var answer: TransferResponse
    do throws(TransportError) {
      answer = try await ExchangeStream.open(asked, over: engine, time: time)
    } catch {
      if error.stage == .request, error.code == .unsupported, !error.requestSent { return nil }
      throw error
    }
    answer.head = answer.head.withLocationForHTTP
    do throws(WebSocketHandshakeFailure) {
      if let stream = answer.body.upgraded {
        let agreement = try handshake.checkTunnel(ResponseHead(answer.head))
        answer.body = ResponseBody(upgraded: WebSocketStream(stream, agreement, from: origin))
      }
    } catch {
      throw .refusedHandshake(error, answer)
    }
    return answer
  }

  private func upgradedResponse(
    _ answer: TransferResponse, _ handshake: WebSocketHandshake
  ) throws(TransportError) -> TransferResponse {
    var answer = answer
    answer.head = answer.head.withLocationForHTTP
    do throws(WebSocketHandshakeFailure) {
      if let stream = answer.body.upgraded {
        let agreement = try handshake.check(ResponseHead(answer.head))
        answer.body = ResponseBody(upgraded: WebSocketStream(stream, agreement, from: dialer.latestDial))
      }
    } catch {
      throw .refusedHandshake(error, answer)
    }
    guard answer.head.status.kind == .successful else { return answer }
    throw .notSwitched(answer.head.status.code, answer)
  }

  private func check(_ request: TransferRequest) throws(TransportError) {
    guard request.head.method == .get else {
      throw .refused(.invalidMethod, "the WebSocket handshake has the method \(request.head.method)", hint: "use GET")
    }
    guard request.body.isEmpty else {
      throw .refused(.invalidBody, "the WebSocket handshake has a body", hint: "leave it out")
    }
  }
}

/// A dialer for handshakes: it dials the first origin at the address and with the server name of the configuration.
struct WebSocketDialer: Dialer {
  private let below: any Dialer
  private let configuration: WebSocketConfiguration
  /// Scheme and authority of the first request; address and server name apply to no other.
  private let firstOrigin = Lock<String?>(nil)
  private let latest = Lock<LinkOrigin?>(nil)

  /// The latest dial. A handshake and its redirects dial one after the other.
  var latestDial: LinkOrigin? { latest.withLock(\.self) }

  init(_ below: any Dialer, configuration: WebSocketConfiguration) {
    self.below = below
    self.configuration = configuration
  }

  func dial(_ request: DialRequest) async throws(TransportError) -> any ByteStream {
    let request = try led(request)
    // Created before the dial, and outside the lock, because it may check files.
    let origin = LinkOrigin(below, request)
    latest.withLock { $0 = origin }
    return try await below.dial(request)
  }

  func checkPlaintext(_ request: DialRequest) throws(TransportError) { try below.checkPlaintext(request) }

  func trustRevisions(for request: DialRequest) -> [UInt64] { below.trustRevisions(for: request) }

  private func led(_ request: DialRequest) throws(TransportError) -> DialRequest {
    let origin = "\(request.tls == nil ? "http" : "https")://\(request.host):\(request.port)"
    let isFirst = firstOrigin.withLock { first in
      first = first ?? origin
      return first == origin
    }
    guard isFirst else { return request }
    var led = request
    if let address = configuration.address {
      // Pins apply to the host of the URL, which the dialer would not learn otherwise.
      if request.tls == nil { try below.checkPlaintext(request) }
      led.host = address.host
      led.port = address.port ?? request.port
    }
    led.tls?.serverName = configuration.serverName ?? (configuration.address == nil ? nil : request.host)
    return led
  }
}

extension WebSocketDialer: LayeredDialer {
  var dialerBelow: (any Dialer)? { below }
}

extension TransferRequest {
  /// The maximum size in bytes of the body of a refusal.
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

extension TransportError {
  static func refusedHandshake(_ failure: WebSocketHandshakeFailure, _ answer: TransferResponse) -> Self {
    Self(
      stage: .response, code: .protocolViolation, message: failure.message, hint: failure.hint, requestSent: true,
      facts: answer.facts, head: answer.head)
  }

  static func notSwitched(_ status: Int, _ answer: TransferResponse? = nil) -> Self {
    Self(
      stage: .response, code: .protocolViolation,
      message: "the server answered \(status) and not 101 Switching Protocols",
      hint: "check that the path is that of a WebSocket", requestSent: true, facts: answer?.facts, head: answer?.head)
  }

  static func unopenedWebSocket(_ request: TransferRequest) -> Self {
    .deadlinePassed(
      request.deadlineCode, of: request.wholeTimeout ?? request.deadline, "before the WebSocket was open",
      requestSent: true)
  }
}
