// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
public import Lastro
internal import LastroExchange
internal import LastroWire

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// A transport through an HTTP proxy, by CONNECT (RFC 9110 §9.3.6), plain or over TLS, with Basic credentials
/// (RFC 7617) where the proxy has some.
///
/// Names go to the proxy, which resolves them. It carries bytes. TLS with the host is a `TLSDialer`'s that is put over it;
/// datagrams are refused.
public struct HTTPConnectDialer: Dialer {
  /// The proxy.
  public let proxy: ProxyServer
  /// TLS with the proxy itself (`https://` proxies); `nil` for none.
  public let tls: DialRequest.TLS?
  /// How the proxy is reached.
  public let below: any Dialer
  private let authorization: String?

  /// Makes a transport.
  ///
  /// - Parameters:
  ///   - proxy: the proxy.
  ///   - tls: TLS with the proxy, which the dialer below then has to do. Default `nil`: none.
  ///   - below: how it is reached: straight, or through another transport.
  /// - Throws: `ConfigurationError` for credentials that Basic cannot carry: a user with a colon, control characters.
  public init(
    proxy: ProxyServer, tls: DialRequest.TLS? = nil, over below: any Dialer
  ) throws(ConfigurationError) {
    self.proxy = proxy
    self.tls = tls
    self.below = below
    authorization = try proxy.credentials.map { credentials throws(ConfigurationError) in
      try Self.authorization(credentials)
    }
  }

  private static func authorization(_ credentials: ProxyServer.Credentials) throws(ConfigurationError) -> String {
    let text = "\(credentials.user):\(credentials.password.reveal())"
    guard !credentials.user.utf8.contains(UInt8(ascii: ":")), !text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F })
    else {
      throw ConfigurationError(
        "user or password cannot be sent to an HTTP proxy",
        hint: "Basic (RFC 7617) allows no colon in the user, and no control character in either")
    }
    return "Basic " + Data(text.utf8).base64EncodedString()
  }

  /// Opens a stream through the proxy.
  ///
  /// - Throws: `TransportError`; stage `proxy`: code `proxy_not_found` or `proxy_connect_failed` where it cannot be reached,
  ///   `proxy_refused` for any answer but 2xx, with its status as `engineCode`, `protocol_violation` for an answer that is no
  ///   HTTP/1; what else the dialer below throws. Messages name the proxy by host and port.
  public func dial(_ request: DialRequest) async throws(TransportError) -> any ByteStream {
    guard request.tls == nil else { throw .noTLS("HTTPConnectDialer") }
    let target = try NestedTarget(host: request.host, port: request.port)
    try checkPlaintext(request)
    let countdown = Countdown(request.connectTimeout)
    let name = "the HTTP proxy \(proxy.address)"
    let dialed = try proxy.request(for: request, tls: tls, within: try countdown.remaining())
    let stream: any ByteStream
    do throws(TransportError) {
      stream = try await below.dial(dialed)
    } catch {
      throw error.reaching(name)
    }
    do throws(TransportError) {
      let early = try await open(target, over: stream, within: countdown)
      return TunnelStream(stream, early: early)
    } catch {
      stream.close()
      throw error.talking(to: name, "the HTTP proxy")
    }
  }

  /// Asks the dialer below.
  public func checkPlaintext(_ request: DialRequest) throws(TransportError) { try below.checkPlaintext(request) }

  private func open(
    _ target: NestedTarget, over stream: any ByteStream, within countdown: Countdown
  ) async throws(TransportError) -> Data {
    let request = try request(for: target)
    var exchange = StreamExchange(
      over: stream, asking: .connect, within: ExchangeTimes(countdown, code: .connectTimeout))
    do throws(TransportError) {
      try await exchange.send(request)
      guard let answer = try await exchange.receiveHeadIfAny() else { throw .proxyClosed("the HTTP proxy") }
      if let refusal = refusal(answer.status, of: target) { throw refusal }
      return Data(exchange.takeLeftover())
    } catch {
      throw error.answeringCONNECT.beforeSending
    }
  }

  private func request(for target: NestedTarget) throws(TransportError) -> Data {
    var writer = try RequestWriter(
      HTTPRequest(method: .connect, scheme: nil, authority: target.authority, path: target.authority))
    if let authorization { try writer.add(own: [("Proxy-Authorization", authorization)]) }
    return Data(try writer.head())
  }

  private func refusal(_ status: Int, of target: NestedTarget) -> TransportError? {
    if status / 100 == 2 { return nil }
    let hint: String? =
      switch status {
      case 407: authorization != nil ? "it does not accept user and password" : "give user and password"
      case 403: "the proxy's rules forbid this host or port"
      case 502, 503, 504: "the proxy could not reach the host"
      default: nil
      }
    return TransportError(
      stage: .proxy, code: .proxyRefused,
      message: "the HTTP proxy answered CONNECT \(target.authority) with \(status)", hint: hint,
      engineCode: Int32(status))
  }
}

extension TransportError {
  /// An answer that HTTP does not allow, told as the proxy's.
  fileprivate var answeringCONNECT: Self {
    switch code {
    case .malformedResponse, .headTooLarge, .tooManyInterimResponses:
      TransportError(
        stage: .proxy, code: .protocolViolation, message: "the HTTP proxy's answer to CONNECT: \(message)",
        hint: "is it an HTTP proxy?")
    default: self
    }
  }
}
