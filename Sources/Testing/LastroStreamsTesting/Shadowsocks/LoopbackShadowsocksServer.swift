// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
package import LastroTesting
internal import LastroTunnels

/// A Shadowsocks server on 127.0.0.1, or in memory, that behaves like shadowsocks-libev.
///
/// Like a real server, it is silent to a client with another password, to an address of an unknown type, and to a salt
/// that it has already seen.
///
/// ```swift
/// let proxy = try LoopbackShadowsocksServer()
/// let dialer = try ViaChain([proxy.uri]).dialer(over: engine)
/// ```
package final class LoopbackShadowsocksServer: Sendable {
  /// The target of streams.
  package enum Target: Sendable, Hashable {
    /// An echo of all received bytes.
    case echo
    /// A port on 127.0.0.1.
    case port(Int)
    /// The port that the client requests, on 127.0.0.1, regardless of the requested host.
    case asked
  }

  /// The underlying server, with its addresses and connections.
  package let server: LoopbackServer
  private let house: ShadowsocksHouse

  /// Starts a server on a port that the kernel chooses.
  ///
  /// - Parameter port: the port on 127.0.0.1 that streams lead to. Default `nil`: an echo of all received bytes.
  /// - Throws: `LoopbackError`.
  package convenience init(forwardingTo port: Int? = nil) throws(LoopbackError) {
    var behavior = LoopbackShadowsocksBehavior()
    behavior.target = port.map(Target.port) ?? .echo
    try self.init(behavior)
  }

  /// Starts a server that follows a behavior, and may violate the protocol.
  ///
  /// - Parameter behavior: the behavior of the server.
  /// - Throws: `LoopbackError`.
  package init(_ behavior: LoopbackShadowsocksBehavior) throws(LoopbackError) {
    let house: ShadowsocksHouse
    do throws(ShadowsocksFailure) {
      house = try ShadowsocksHouse(behavior)
    } catch {
      throw .outOfResources("libcrypto refuses what Shadowsocks needs")
    }
    self.house = house
    server = try LoopbackServer { connection in try ShadowsocksServerSession(house).serve(connection) }
  }

  /// The URI for users of the server, such as `ss://Y2hh…@127.0.0.1:40123`.
  package var uri: String { uri(host: "127.0.0.1", port: port) }

  /// Returns the URI for another address, such as that of streams in memory.
  package func uri(host: String, port: Int) -> String {
    let user = Data("\(house.behavior.method.rawValue):\(house.behavior.password)".utf8).base64EncodedString()
    return "ss://\(user.replacing("+", with: "-").replacing("/", with: "_").prefix { $0 != "=" })@\(host):\(port)"
  }

  /// The port.
  package var port: Int { server.port }

  /// The targets that clients requested, such as `example.com:443`, in order.
  package var targets: [String] { house.targets }

  /// Stops the server; see `LoopbackServer.stop()`.
  package func stop() { server.stop() }

  /// Returns a dialer whose streams lead to the same server in this process, without sockets. They lead to an echo,
  /// even if those of sockets are forwarded.
  ///
  /// - Parameter shape: the shape of the streams, such as one byte at a time. Default: that of a `MemoryStream`.
  package func dialer(shape: MemoryStream.Shape = MemoryStream.Shape()) -> MemoryDialer {
    MemoryDialer(shape: shape) { [house] _, stream in try await ShadowsocksServerSession(house).serve(stream) }
  }
}
