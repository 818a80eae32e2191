// SPDX-License-Identifier: Apache-2.0

public import Lastro
internal import LastroWire

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// A transport through a SOCKS 5 proxy (RFC 1928), without authentication or with user and password (RFC 1929).
///
/// Names go to the proxy, which resolves them (what curl calls `socks5h`): nothing about the host is asked of the DNS
/// here. IPv4 and IPv6 addresses go as such. Fixed resolutions of a request are for the proxy's own name alone.
///
/// It carries bytes. TLS with the host is a `TLSDialer`'s that is put over it; datagrams are refused.
public struct SOCKS5Dialer: Dialer {
  /// The proxy.
  public let proxy: ProxyServer
  /// How the proxy is reached.
  public let below: any Dialer

  /// Makes a transport.
  ///
  /// - Parameters:
  ///   - proxy: the proxy.
  ///   - below: how it is reached: straight, or through another transport.
  /// - Throws: `ConfigurationError` for a user or password that is empty or longer than 255 bytes.
  public init(proxy: ProxyServer, over below: any Dialer) throws(ConfigurationError) {
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
  /// - Throws: `TransportError`; stage `proxy`: code `proxy_not_found` or `proxy_connect_failed` where it cannot be reached,
  ///   `proxy_refused` for a refusal, with the ``SOCKS5Reply`` as `engineCode`, `protocol_violation` for an answer that is no
  ///   SOCKS 5; what else the dialer below throws. Messages name the proxy by host and port.
  public func dial(_ request: DialRequest) async throws(TransportError) -> any ByteStream {
    guard request.tls == nil else { throw .noTLS("SOCKS5Dialer") }
    let target = try NestedTarget(host: request.host, port: request.port)
    let machine = try Self.machine(to: target, proxy.credentials)
    try checkPlaintext(request)
    let countdown = Countdown(request.connectTimeout)
    let name = "the SOCKS proxy \(proxy.address)"
    let dialed = try proxy.request(for: request, within: try countdown.remaining())
    let stream: any ByteStream
    do throws(TransportError) {
      stream = try await below.dial(dialed)
    } catch {
      throw error.reaching(name)
    }
    do throws(TransportError) {
      try await run(machine, StreamHandshake(over: stream, within: countdown))
    } catch {
      stream.close()
      throw error.talking(to: name, "the SOCKS proxy").refusing(target.authority)
    }
    return TunnelStream(stream)
  }

  /// Asks the dialer below.
  public func checkPlaintext(_ request: DialRequest) throws(TransportError) { try below.checkPlaintext(request) }

  private static func machine(
    to target: NestedTarget, _ credentials: ProxyServer.Credentials?
  ) throws(TransportError) -> SOCKS5Machine {
    do throws(SOCKS5Failure) {
      return try SOCKS5Machine(
        host: target.host, port: UInt16(clamping: target.port),
        login: credentials.map { (Array($0.user.utf8), Array($0.password.reveal().utf8)) })
    } catch {
      throw error.transportError(hasLogin: credentials != nil)
    }
  }

  private func run(_ machine: SOCKS5Machine, _ handshake: StreamHandshake) async throws(TransportError) {
    var machine = machine
    var step = machine.start()
    while case .more(let count, let bytes) = step {
      if !bytes.isEmpty { try await handshake.send(Data(bytes)) }
      guard let answer = try await handshake.receive(exactly: count) else {
        throw .proxyClosed("the SOCKS proxy")
      }
      do throws(SOCKS5Failure) {
        step = try machine.receive(answer)
      } catch {
        throw error.transportError(hasLogin: proxy.credentials != nil)
      }
    }
  }
}

extension SOCKS5Failure {
  /// - Parameter hasLogin: whether user and password were there to be given.
  fileprivate func transportError(hasLogin: Bool) -> TransportError {
    switch kind {
    case .target: .refused(.invalidOption, message, hint: "give a shorter name, or the host's address")
    case .login: .refused(.invalidOption, message, hint: "each must have 1 to 255 bytes of UTF-8 (RFC 1929)")
    case .violation(let isOtherProtocol):
      TransportError(
        stage: .proxy, code: .protocolViolation, message: "the SOCKS proxy breaks the protocol: \(message)",
        hint: isOtherProtocol ? "is it a SOCKS 5 proxy?" : nil)
    case .noMethod:
      refusal(
        message, engineCode: SOCKS5Machine.noneAcceptable,
        hint: hasLogin ? "it wants more than user and password" : "give user and password")
    case .loginRefused: refusal(message, engineCode: nil, hint: "check both")
    case .refused(let code):
      if let reply = SOCKS5Reply(rawValue: code) {
        refusal("\(reply) (reply \(code))", engineCode: code, hint: reply.hint)
      } else {
        refusal("unassigned reply \(code)", engineCode: code, hint: nil)
      }
    }
  }

  private func refusal(_ message: String, engineCode: UInt8?, hint: String?) -> TransportError {
    TransportError(
      stage: .proxy, code: .proxyRefused, message: "the SOCKS proxy refused: \(message)", hint: hint,
      engineCode: engineCode.map { Int32($0) })
  }
}

extension TransportError {
  /// A refusal says what was asked for.
  fileprivate func refusing(_ target: String) -> Self {
    var error = self
    error.message = message.replacing(" refused: ", with: " refused to connect to \(target): ")
    return error
  }

  /// The proxy went away in the handshake.
  static func proxyClosed(_ name: String) -> Self {
    Self(
      stage: .proxy, code: .proxyRefused, message: "\(name) closed the connection instead of opening a tunnel",
      hint: "it may not be a proxy of this kind")
  }
}
