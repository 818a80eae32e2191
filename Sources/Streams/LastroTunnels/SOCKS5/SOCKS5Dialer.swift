// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
package import Lastro
internal import LastroHTTP
internal import LastroSupport
internal import LastroWire

/// The dialer of ``Tunnel/socks5(host:port:login:over:)``.
package struct SOCKS5Dialer: TunnelDialer {
  /// The proxy that is asked to connect.
  package let proxy: ProxyServer
  /// The dialer that reaches the proxy.
  package let below: any Dialer

  /// Creates a tunnel; the proxy is first contacted by the first dial.
  ///
  /// - Parameters:
  ///   - proxy: the proxy.
  ///   - below: the dialer that reaches the proxy: directly, or through another tunnel.
  /// - Throws: `ConfigurationError` for a user or password that is empty or longer than 255 bytes.
  package init(proxy: ProxyServer, over below: any Dialer) throws(ConfigurationError) {
    self.proxy = proxy
    self.below = below
    do throws(TransportError) {
      _ = try Self.machine(to: NestedTarget(host: proxy.host, port: proxy.port), proxy.credentials)
    } catch {
      throw ConfigurationError(error.message, hint: error.hint)
    }
  }

  /// Opens a stream through the proxy.
  ///
  /// - Throws: `TransportError`; stage `proxy`: code `proxy_not_found` or `proxy_connect_failed` if the proxy cannot be
  ///   reached, `proxy_refused` for a refusal, with the reply of RFC 1928 as `engineCode`, `protocol_violation` for a
  ///   response that is not SOCKS 5; otherwise the errors of the dialer below. Messages name the proxy by host and
  ///   port.
  package func dial(_ request: DialRequest) async throws(TransportError) -> any ByteStream {
    guard request.tls == nil else { throw .noTLS("the SOCKS 5 tunnel") }
    let target = try NestedTarget(host: request.host, port: request.port)
    let machine = try Self.machine(to: target, proxy.credentials)
    try checkPlaintext(request)
    let countdown = Countdown(request.connectTimeout)
    let dialed = try proxy.request(for: request, within: try countdown.remaining())
    let stream = try await dialBelow(dialed, named: name)
    do throws(TransportError) {
      try await run(machine, to: target, StreamHandshake(over: stream, within: countdown))
    } catch {
      stream.close()
      throw error.talking(to: name)
    }
    return TunnelStream(stream)
  }

  private var name: String { "the SOCKS proxy \(proxy.address)" }

  private static func machine(
    to target: NestedTarget, _ credentials: ProxyServer.Credentials?
  ) throws(TransportError) -> SOCKS5Machine {
    do throws(SOCKS5Failure) {
      return try SOCKS5Machine(
        host: target.host, port: UInt16(clamping: target.port),
        login: credentials.map { (Array($0.user.utf8), Array($0.password.reveal().utf8)) })
    } catch {
      throw error.refused
    }
  }

  private func run(
    _ machine: SOCKS5Machine, to target: NestedTarget, _ handshake: StreamHandshake
  ) async throws(TransportError) {
    var machine = machine
    var step = machine.start()
    while case .more(let count, let bytes) = step {
      if !bytes.isEmpty { try await handshake.send(Data(bytes)) }
      guard let answer = try await handshake.receive(exactly: count) else {
        throw .proxyClosed(name)
      }
      do throws(SOCKS5Failure) {
        step = try machine.receive(answer)
      } catch {
        throw error.transportError(of: name, connecting: target.authority, hasLogin: proxy.credentials != nil)
      }
    }
  }
}

extension SOCKS5Failure {
  /// The error of a request that cannot be sent to a proxy.
  var refused: TransportError {
    .refused(
      .invalidOption, message,
      hint: kind == .login ? "give each 1 to 255 bytes of UTF-8; RFC 1929" : nil)
  }

  /// - Parameters:
  ///   - proxy: the name of the proxy.
  ///   - target: the requested destination.
  ///   - hasLogin: whether user and password were available.
  fileprivate func transportError(of proxy: String, connecting target: String, hasLogin: Bool) -> TransportError {
    func refusal(_ message: String, code: UInt8? = nil, hint: String?) -> TransportError {
      TransportError(
        stage: .proxy, code: .proxyRefused, message: "\(proxy) refused to connect to \(target): \(message)",
        hint: hint, engineCode: code.map { Int32($0) })
    }
    switch kind {
    case .target, .login: return refused
    case .violation(let isOtherProtocol):
      return TransportError(
        stage: .proxy, code: .protocolViolation, message: "\(proxy) breaks the protocol: \(message)",
        hint: isOtherProtocol ? "check that it is a SOCKS 5 proxy" : "report it to the proxy's owner")
    case .noMethod:
      return refusal(
        message, code: SOCKS5Machine.noneAcceptable,
        hint: hasLogin ? "ask the proxy's owner: it wants more than user and password" : "give user and password")
    case .loginRefused: return refusal(message, hint: "check user and password")
    case .refused(let code):
      guard let reply = SOCKS5Reply(rawValue: code) else {
        return refusal("unassigned reply \(code)", code: code, hint: "look at the proxy's log")
      }
      return refusal("\(reply) (reply \(code))", code: code, hint: reply.hint)
    }
  }
}
