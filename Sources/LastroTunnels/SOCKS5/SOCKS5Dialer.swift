// SPDX-License-Identifier: Apache-2.0

public import Lastro

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
      _ = try SOCKS5Machine(NestedTarget(host: proxy.host, port: proxy.port), credentials: proxy.credentials)
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
    let machine = try SOCKS5Machine(target, credentials: proxy.credentials)
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
      try await Self.run(machine, StreamHandshake(over: stream, within: countdown))
    } catch {
      stream.close()
      throw error.talking(to: name, "the SOCKS proxy").refusing(target.authority)
    }
    return TunnelStream(stream)
  }

  /// Asks the dialer below.
  public func checkPlaintext(_ request: DialRequest) throws(TransportError) { try below.checkPlaintext(request) }

  private static func run(_ machine: SOCKS5Machine, _ handshake: StreamHandshake) async throws(TransportError) {
    var machine = machine
    var step = machine.start()
    while case .more(let count, let bytes) = step {
      if !bytes.isEmpty { try await handshake.send(Data(bytes)) }
      guard let answer = try await handshake.receive(exactly: count) else {
        throw .proxyClosed("the SOCKS proxy")
      }
      step = try machine.receive(answer)
    }
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
