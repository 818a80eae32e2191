// SPDX-License-Identifier: Apache-2.0

public import LastroTesting

/// A server on 127.0.0.1 that a tunnel of `LastroTunnels` leads through: meek, obfs4 or Shadowsocks.
///
/// ```swift
/// let bridge = try LoopbackTunnelServer.obfs4()
/// let dialer = try ViaChain([bridge.hop]).dialer(over: engine)
/// ```
public final class LoopbackTunnelServer: Sendable {
  /// The text that `ViaChain` reads: a URL of meek such as `meek:http://127.0.0.1:40123`, the bridge line of obfs4 such
  /// as `obfs4 127.0.0.1:40123 cert=… iat-mode=0`, or the URI of Shadowsocks such as `ss://Y2hh…@127.0.0.1:40123`.
  public let hop: String
  private let server: LoopbackServer
  private let readTargets: @Sendable () -> [String]

  private init(_ server: LoopbackServer, hop: String, readTargets: @escaping @Sendable () -> [String]) {
    self.server = server
    self.hop = hop
    self.readTargets = readTargets
  }

  /// Starts a server of the meek transport, as published: `POST`s with an `X-Session-Id` of at least 8 characters, and
  /// bodies of at most 64 KiB either way.
  ///
  /// Like the published server, it cannot signal an end: when a session's target is gone it responds with 500 and
  /// removes the session. An unknown ID begins a session.
  ///
  /// - Parameters:
  ///   - tls: the TLS options. Default: plaintext.
  ///   - port: the port on 127.0.0.1 that the sessions lead to. Default `nil`: an echo of all received bytes.
  /// - Throws: `LoopbackError`.
  public static func meek(
    tls: LoopbackTLS? = nil, forwardingTo port: Int? = nil
  ) throws(LoopbackError) -> LoopbackTunnelServer {
    let peer = try LoopbackMeekServer(tls: tls, forwardingTo: port)
    return LoopbackTunnelServer(peer.server, hop: "meek:\(peer.server.baseURL)") { [] }
  }

  /// Starts a server that behaves like obfs4proxy, with its own key.
  ///
  /// Like a real server, it is silent to a client whose hello it rejects: one for another certificate, one whose hour
  /// differs from its own by more than one, or one that it has already seen.
  ///
  /// - Parameter port: the port on 127.0.0.1 that streams lead to. Default `nil`: an echo of all received bytes.
  /// - Throws: `LoopbackError`.
  public static func obfs4(forwardingTo port: Int? = nil) throws(LoopbackError) -> LoopbackTunnelServer {
    let peer = try LoopbackObfs4Server(forwardingTo: port)
    return LoopbackTunnelServer(peer.server, hop: peer.bridgeLine) { [] }
  }

  /// Starts a server that behaves like shadowsocks-libev.
  ///
  /// Like a real server, it is silent to a client with another password, to an address of an unknown type, and to a
  /// salt that it has already seen.
  ///
  /// - Parameter port: the port on 127.0.0.1 that streams lead to. Default `nil`: an echo of all received bytes.
  /// - Throws: `LoopbackError`.
  public static func shadowsocks(forwardingTo port: Int? = nil) throws(LoopbackError) -> LoopbackTunnelServer {
    let peer = try LoopbackShadowsocksServer(forwardingTo: port)
    return LoopbackTunnelServer(peer.server, hop: peer.uri) { peer.targets }
  }

  /// The port.
  public var port: Int { server.port }

  /// The targets that clients of Shadowsocks requested, such as `example.com:443`, in order. Clients of meek and obfs4
  /// request none.
  public var targets: [String] { readTargets() }

  /// Stops the server; see `LoopbackServer.stop()`.
  public func stop() { server.stop() }
}
