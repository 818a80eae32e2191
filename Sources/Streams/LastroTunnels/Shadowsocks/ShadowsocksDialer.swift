// SPDX-License-Identifier: Apache-2.0

public import Lastro
internal import LastroHTTP
internal import LastroWire

/// The Shadowsocks tunnel: a stream in which every byte looks random, to a server that connects to the host of each
/// request (SIP004, SIP007). The server resolves names.
///
/// ```swift
/// let server = try ShadowsocksServer("ss://YWVzLTI1Ni1nY206dGVzdC1wYXNzd29yZA@192.0.2.1:8388")
/// let dialer = TLSDialer(over: ShadowsocksDialer(server, over: engine))
/// ```
///
/// - **A successful dial proves nothing**: the server does not respond before the target does. With a wrong password or
///   method it is silent, and the first read ends with its own limit. If the target cannot be reached, the server ends
///   the stream, and the first read throws code `proxy_refused`.
/// - Anyone who has the password can impersonate the server, or replay a recorded response. TLS authenticates the
///   host: put a `TLSDialer` over this dialer, as chains do.
/// - The target's address is sent with the first bytes that are written, because the length of a packet with only an
///   address is recognisable. If a read comes first, or if nothing is written for 10 ms, the address is sent alone.
/// - Ending the outgoing direction sends nothing, because servers would drop the response. Closing ends both
///   directions.
/// - A chunk that was changed in transit closes the connection. The bytes before it can still be read; after that,
///   every read throws code `protocol_violation`.
/// - It carries bytes. TLS and datagrams are refused.
public struct ShadowsocksDialer: Dialer {
  /// The server.
  package let server: ShadowsocksServer
  /// The dialer that reaches the server.
  package let below: any Dialer
  private let time: TimeSource
  private let random: RandomSource

  /// Creates a tunnel; the server is first contacted by the first dial.
  ///
  /// - Parameters:
  ///   - server: the address, method and password of the server.
  ///   - below: the dialer that reaches the server: directly, or through another tunnel.
  ///   - time: the time source for the delay of the address. Default: the system's clock.
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
  /// - Throws: `TransportError`; stage `proxy`: code `proxy_not_found` or `proxy_connect_failed` if the server cannot
  ///   be reached. Stage `request`: code `invalid_option` for a host or port that the protocol cannot carry,
  ///   `unsupported` for TLS, and if libcrypto does not support the cipher. Otherwise the errors of the dialer below.
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

  /// Checks the request with the dialer below.
  ///
  /// - Throws: `TransportError`, like the dialer below.
  public func checkPlaintext(_ request: DialRequest) throws(TransportError) { try below.checkPlaintext(request) }

  /// Returns the revisions of the dialer below.
  public func trustRevisions(for request: DialRequest) -> [UInt64] { below.trustRevisions(for: request) }

  private func salt() -> [UInt8] {
    (0..<server.key.cipher.keyLength / 8).flatMap { _ in withUnsafeBytes(of: random.next()) { Array($0) } }
  }
}
