// SPDX-License-Identifier: Apache-2.0

internal import LastroObfuscation
public import LastroTesting
internal import LastroTunnels

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// A server of Shadowsocks on 127.0.0.1, or in memory, that does what its ``LoopbackShadowsocksBehavior`` says: what
/// shadowsocks-libev does, or what it must not.
///
/// As real ones, it is silent to a client with another password, to an address of an unknown type, and to a salt that
/// it has seen.
///
/// ```swift
/// let proxy = try LoopbackShadowsocksServer()
/// let dialer = ShadowsocksDialer(try ShadowsocksServer(proxy.uri), over: engine)
/// ```
public final class LoopbackShadowsocksServer: Sendable {
  /// The server below: addresses and connections.
  public let server: LoopbackServer
  private let house: ShadowsocksHouse

  /// Starts a server on a port of the kernel's choice.
  ///
  /// - Parameter behavior: default: as shadowsocks-libev, with an echo behind it.
  /// - Throws: `LoopbackError`.
  public init(_ behavior: LoopbackShadowsocksBehavior = LoopbackShadowsocksBehavior()) throws(LoopbackError) {
    let house: ShadowsocksHouse
    do throws(ShadowsocksFailure) {
      house = try ShadowsocksHouse(behavior)
    } catch {
      throw .outOfResources("libcrypto refuses what Shadowsocks needs")
    }
    self.house = house
    server = try LoopbackServer { connection in try ShadowsocksServerSession(house).serve(connection) }
  }

  /// Such as `ss://Y2hh…@127.0.0.1:40123`: what users of the server are given.
  public var uri: String { uri(host: "127.0.0.1", port: port) }

  /// The same for another address, such as that of streams in memory.
  public func uri(host: String, port: Int) -> String {
    let user = Data("\(house.behavior.method.rawValue):\(house.behavior.password)".utf8).base64EncodedString()
    return "ss://\(user.replacing("+", with: "-").replacing("/", with: "_").prefix { $0 != "=" })@\(host):\(port)"
  }

  /// The port.
  public var port: Int { server.port }

  /// Where clients wanted to, such as `example.com:443`, in the order of their asking.
  public var targets: [String] { house.targets }

  /// Stops it; see `LoopbackServer.stop()`.
  public func stop() { server.stop() }

  /// A dialer whose streams lead to the same server in this process, without sockets.
  /// ``LoopbackShadowsocksBehavior/Target`` is an echo for them.
  ///
  /// - Parameter shape: of the streams, such as one byte at a time.
  public func dialer(shape: MemoryStream.Shape = MemoryStream.Shape()) -> MemoryDialer {
    MemoryDialer(shape: shape) { [house] _, stream in try await ShadowsocksServerSession(house).serve(stream) }
  }
}
