// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
package import Lastro
package import LastroTesting
internal import LastroTunnels

/// An obfs4 server on 127.0.0.1, or in memory, that behaves like obfs4proxy.
///
/// Like a real server, it is silent to a client whose hello it rejects: one for another certificate, one whose hour
/// differs from its own by more than one, or one that it has already seen.
///
/// ```swift
/// let bridge = try LoopbackObfs4Server()
/// let dialer = try ViaChain([bridge.bridgeLine]).dialer(over: engine)
/// ```
package final class LoopbackObfs4Server: Sendable {
  /// The certificate: 70 characters of base64.
  package let certificate: String
  /// The underlying server, with its addresses and connections.
  package let server: LoopbackServer
  private let bridge: Obfs4Bridge

  /// Starts a server with its own key on a port that the kernel chooses.
  ///
  /// - Parameter port: the port on 127.0.0.1 that streams lead to. Default `nil`: an echo of all received bytes.
  /// - Throws: `LoopbackError`.
  package convenience init(forwardingTo port: Int? = nil) throws(LoopbackError) {
    var behavior = LoopbackObfs4Behavior()
    behavior.target = port.map(ObfuscatedRoute.port) ?? .echo
    try self.init(behavior)
  }

  /// Starts a server that follows a behavior, and may violate the protocol.
  ///
  /// - Parameters:
  ///   - behavior: the behavior of the server.
  ///   - time: the time source for the current hour. Default: the system's clock.
  /// - Throws: `LoopbackError`.
  package init(_ behavior: LoopbackObfs4Behavior, time: TimeSource = .continuous) throws(LoopbackError) {
    let bridge: Obfs4Bridge
    do throws(Obfs4Failure) {
      bridge = try Obfs4Bridge(behavior, now: time.sinceEpoch)
    } catch {
      throw .outOfResources("libcrypto refuses what obfs4 needs")
    }
    self.bridge = bridge
    certificate = bridge.certificate
    server = try LoopbackServer { connection in try Obfs4ServerSession(bridge).serve(connection) }
  }

  /// The bridge line for users of the server, such as `obfs4 127.0.0.1:40123 cert=… iat-mode=0`.
  package var bridgeLine: String { "obfs4 127.0.0.1:\(port) cert=\(certificate) iat-mode=0" }

  /// The port.
  package var port: Int { server.port }

  /// Stops the server; see `LoopbackServer.stop()`.
  package func stop() { server.stop() }

  /// Returns a dialer whose streams lead to the same server in this process, without sockets. They lead to an echo,
  /// even if those of sockets are forwarded.
  ///
  /// - Parameter shape: the shape of the streams, such as one byte at a time. Default: that of a `MemoryStream`.
  package func dialer(shape: MemoryStream.Shape = MemoryStream.Shape()) -> MemoryDialer {
    MemoryDialer(shape: shape) { [bridge] _, stream in try await Obfs4ServerSession(bridge).serve(stream) }
  }
}

extension Obfs4Bridge {
  /// The certificate in the form that operators publish.
  fileprivate var certificate: String {
    String(Data(identity.identity.certificate).base64EncodedString().prefix { $0 != "=" })
  }
}
