// SPDX-License-Identifier: Apache-2.0

package import Lastro
internal import LastroHTTP
internal import LastroWire

/// The dialer of ``Tunnel/shadowsocks(host:port:method:password:over:time:)``.
package struct ShadowsocksDialer: TunnelDialer {
  /// The server.
  package let server: ShadowsocksServer
  /// The dialer that reaches the server.
  package let below: any Dialer
  private let time: TimeSource

  /// Creates a tunnel; the server is first contacted by the first dial.
  ///
  /// - Parameters:
  ///   - server: the address, method and password of the server.
  ///   - below: the dialer that reaches the server: directly, or through another tunnel.
  ///   - time: the time source for the delay of the address. Default: the system's clock.
  package init(_ server: ShadowsocksServer, over below: any Dialer, time: TimeSource = .continuous) {
    self.server = server
    self.below = below
    self.time = time
  }

  /// Opens a stream: dials the server, within the request's limit. Nothing is sent yet.
  ///
  /// - Throws: `TransportError`; stage `proxy`: code `proxy_not_found` or `proxy_connect_failed` if the server cannot
  ///   be reached. Stage `request`: code `invalid_option` for a host or port that the protocol cannot carry,
  ///   `unsupported` for TLS, and if libcrypto does not support the cipher. Otherwise the errors of the dialer below.
  package func dial(_ request: DialRequest) async throws(TransportError) -> any ByteStream {
    guard request.tls == nil else { throw .noTLS("the Shadowsocks tunnel") }
    let target = try NestedTarget(host: request.host, port: request.port)
    let address: [UInt8]
    do throws(SOCKS5Failure) {
      address = try target.address.bytes()
    } catch {
      throw error.refused
    }
    try checkPlaintext(request)
    let writer = try ShadowsocksStream.Writing(server.key, salt: RandomSource.system.bytes(server.key.method.keyLength))
    let dialed = try server.proxy.request(for: request, within: request.connectTimeout)
    let stream = try await dialBelow(dialed, named: server.name)
    return ShadowsocksStream(to: address, server, writer, over: stream, time: time)
  }
}
