// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import HTTPTypes
package import Lastro
internal import LastroHTTP
internal import LastroSupport
internal import LastroWire

/// The dialer of ``Tunnel/httpConnect(host:port:login:tls:over:)``.
package struct HTTPConnectDialer: TunnelDialer {
  /// The proxy that is asked to connect.
  package let proxy: ProxyServer
  /// The TLS parameters for the proxy itself (`https://` proxies); `nil`: no TLS.
  package let tls: DialRequest.TLS?
  /// The dialer that reaches the proxy.
  package let below: any Dialer
  private let authorization: Secret?

  /// Creates a tunnel; the proxy is first contacted by the first dial.
  ///
  /// - Parameters:
  ///   - proxy: the proxy.
  ///   - tls: the TLS parameters for the proxy, which the dialer below must support. Default `nil`: no TLS.
  ///   - below: the dialer that reaches the proxy: directly, or through another tunnel.
  /// - Throws: `ConfigurationError` for credentials that Basic cannot carry: a user with a colon, or control
  ///   characters.
  package init(
    proxy: ProxyServer, tls: DialRequest.TLS? = nil, over below: any Dialer
  ) throws(ConfigurationError) {
    self.proxy = proxy
    self.tls = tls
    self.below = below
    authorization = try proxy.credentials.map { credentials throws(ConfigurationError) in
      try .basic(user: credentials.user, credentials.password)
    }
  }

  /// Opens a stream through the proxy.
  ///
  /// - Throws: `TransportError`; stage `proxy`: code `proxy_not_found` or `proxy_connect_failed` if the proxy cannot be
  ///   reached, `proxy_refused` for any response other than 2xx, with its status as `engineCode`, `protocol_violation`
  ///   for a response that is not HTTP/1; otherwise the errors of the dialer below. Messages name the proxy by host and
  ///   port.
  package func dial(_ request: DialRequest) async throws(TransportError) -> any ByteStream {
    guard request.tls == nil else { throw .noTLS("the HTTP CONNECT tunnel") }
    let target = try NestedTarget(host: request.host, port: request.port)
    try checkPlaintext(request)
    let countdown = Countdown(request.connectTimeout)
    let dialed = try proxy.request(for: request, tls: tls, within: try countdown.remaining())
    let stream = try await dialBelow(dialed, named: name)
    do throws(TransportError) {
      return TunnelStream(try await open(target, over: stream, within: countdown))
    } catch {
      stream.close()
      throw error.talking(to: name)
    }
  }

  private var name: String { "the HTTP proxy \(proxy.address)" }

  /// Opens the stream behind the proxy.
  private func open(
    _ target: NestedTarget, over stream: any ByteStream, within countdown: Countdown
  ) async throws(TransportError) -> any ByteStream {
    let request = try request(for: target, within: countdown)
    do throws(TransportError) {
      let answer = try await LoneExchange.run(request, over: stream, asking: .connect)
      if let refusal = refusal(answer.head.status.code, of: target) { throw refusal }
      guard let opened = answer.body.upgraded else { throw .proxyClosed(name) }
      return opened
    } catch {
      throw error.code == .connectTimeout
        ? .dialTimedOut(within: countdown.limit)
        : error.answeringCONNECT(of: name).beforeSending(within: countdown.limit)
    }
  }

  private func request(
    for target: NestedTarget, within countdown: Countdown
  ) throws(TransportError) -> TransferRequest {
    var head = HTTPRequest(method: .connect, scheme: nil, authority: target.authority, path: target.authority)
    if let authorization { head.headerFields[.proxyAuthorization] = authorization.reveal() }
    // Only the status of the proxy's response matters.
    return TransferRequest(
      head: head, delivery: .collected(maximumBytes: 0), deadline: try countdown.remaining(),
      deadlineCode: .connectTimeout)
  }

  private func refusal(_ status: Int, of target: NestedTarget) -> TransportError? {
    if status / 100 == 2 { return nil }
    let hint =
      switch status {
      case 407:
        authorization != nil ? "check user and password: the proxy does not accept them" : "give user and password"
      case 403: "ask for the host and port in the proxy's rules"
      case 502, 503, 504: "check the host, and the proxy's network"
      default: "look at the proxy's log, or ask its owner"
      }
    return TransportError(
      stage: .proxy, code: .proxyRefused,
      message: "\(name) answered CONNECT \(target.authority) with \(status)", hint: hint,
      engineCode: Int32(status))
  }
}

extension TransportError {
  /// Returns the error of an invalid response as a proxy error.
  fileprivate func answeringCONNECT(of proxy: String) -> Self {
    switch code {
    case .connectionLost: .proxyClosed(proxy)
    case .malformedResponse, .headTooLarge, .tooManyInterimResponses:
      TransportError(
        stage: .proxy, code: .protocolViolation, message: "\(proxy)'s response to CONNECT is malformed: \(message)",
        hint: "check that it is an HTTP proxy")
    default: self
    }
  }
}
