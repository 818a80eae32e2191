// SPDX-License-Identifier: Apache-2.0

public import Lastro
internal import LastroHTTP
internal import LastroObfuscation
internal import LastroWire

/// The Shadowsocks tunnel: a stream whose every byte looks random, to a server that connects to the host of each
/// request (SIP004, SIP007). Names go to the server, which resolves them.
///
/// ```swift
/// let server = try ShadowsocksServer("ss://YWVzLTI1Ni1nY206dGVzdC1wYXNzd29yZA@192.0.2.1:8388")
/// let dialer = TLSDialer(over: ShadowsocksDialer(server, over: engine))
/// ```
///
/// - **Dialing proves nothing**: the server does not answer before the target does. With a wrong password or method it
///   is silent, and the first read ends with its own limit; where the target is not reached, the server ends the
///   stream, and the first read throws code `proxy_refused`.
/// - Everybody who has the password can play the server, or a recorded answer of it. TLS decides who the host is: put a
///   `TLSDialer` over this dialer, as chains do.
/// - The target's address leaves with the first bytes that are written, because a packet of an address alone is told by
///   its length. Where a read comes first, or nothing is written for 10 ms, it leaves alone.
/// - Ending our direction sends nothing: servers drop the answer when they see it. Closing ends both directions.
/// - A chunk that was changed on its path closes the connection; what came before it is read first, then every read
///   throws code `protocol_violation`.
/// - It carries bytes. TLS and datagrams are refused.
public struct ShadowsocksDialer: Dialer {
  /// The server.
  public let server: ShadowsocksServer
  /// The dialer that reaches it.
  public let below: any Dialer
  private let time: TimeSource
  private let random: RandomSource

  /// Makes a tunnel; the server is asked at the first dial.
  ///
  /// - Parameters:
  ///   - server: address, method and password.
  ///   - below: how it is reached: straight, or through another tunnel.
  ///   - time: measures how long the address is held. Default: the system's clock.
  public init(_ server: ShadowsocksServer, over below: any Dialer, time: TimeSource = .continuous) {
    self.init(server, over: below, time: time, random: .system)
  }

  package init(
    _ server: ShadowsocksServer, over below: any Dialer, time: TimeSource = .continuous, random: RandomSource
  ) {
    self.server = server
    self.below = below
    self.time = time
    self.random = random
  }

  /// Opens a stream: dials the server, within the request's limit. Nothing is sent yet.
  ///
  /// - Throws: `TransportError`; stage `proxy`: code `proxy_not_found` or `proxy_connect_failed` where the server
  ///   cannot be reached. Stage `request`: code `invalid_option` for a host or a port that the server cannot be asked
  ///   for, `unsupported` for TLS and where libcrypto refuses the cipher. What else the dialer below throws.
  public func dial(_ request: DialRequest) async throws(TransportError) -> any ByteStream {
    guard request.tls == nil else { throw .noTLS("ShadowsocksDialer") }
    let target = try NestedTarget(host: request.host, port: request.port)
    let address: [UInt8]
    do throws(SOCKS5Failure) {
      address = try target.address.bytes()
    } catch {
      throw error.refused
    }
    try checkPlaintext(request)
    let writer = try ShadowsocksStream.Writing(server.key, salt: salt())
    let dialed = try server.proxy.request(for: request, within: request.connectTimeout)
    let stream: any ByteStream
    do throws(TransportError) {
      stream = try await below.dial(dialed)
    } catch {
      throw error.reaching(server.name)
    }
    return ShadowsocksStream(to: address, server, writer, over: stream, time: time)
  }

  /// Asks the dialer below.
  ///
  /// - Throws: `TransportError`, as the dialer below.
  public func checkPlaintext(_ request: DialRequest) throws(TransportError) { try below.checkPlaintext(request) }

  /// Returns the revisions of the dialer below.
  public func trustRevisions(for request: DialRequest) -> [UInt64] { below.trustRevisions(for: request) }

  private func salt() -> [UInt8] {
    (0..<server.key.cipher.keyLength / 8).flatMap { _ in withUnsafeBytes(of: random.next()) { Array($0) } }
  }
}
