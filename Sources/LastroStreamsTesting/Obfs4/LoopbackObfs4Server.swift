// SPDX-License-Identifier: Apache-2.0

public import Lastro
internal import LastroObfuscation
public import LastroTesting

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// A server of obfs4 on 127.0.0.1, or in memory, that does what its ``LoopbackObfs4Behavior`` says: what obfs4proxy
/// does, or what it must not.
///
/// As real ones, it is silent to a client whose hello it does not accept: of another certificate, of another hour than
/// its own, the one before or the one after, or one that it has seen.
///
/// ```swift
/// let bridge = try LoopbackObfs4Server()
/// let dialer = WispDialer(try WispServer(bridge.bridgeLine), over: engine)
/// ```
public final class LoopbackObfs4Server: Sendable {
  /// The certificate: 70 characters of base64.
  public let certificate: String
  /// The server below: addresses and connections.
  public let server: LoopbackServer
  private let bridge: Obfs4Bridge

  /// Starts a server on a port of the kernel's choice, with a key of its own.
  ///
  /// - Parameters:
  ///   - behavior: default: as obfs4proxy, with an echo behind it.
  ///   - time: tells the hour. Default: the system's clock.
  /// - Throws: `LoopbackError`.
  public init(
    _ behavior: LoopbackObfs4Behavior = LoopbackObfs4Behavior(), time: TimeSource = .continuous
  ) throws(LoopbackError) {
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

  /// Such as `obfs4 127.0.0.1:40123 cert=… iat-mode=0`: what users of the server are given.
  public var bridgeLine: String { "obfs4 127.0.0.1:\(port) cert=\(certificate) iat-mode=0" }

  /// The port.
  public var port: Int { server.port }

  /// Stops it; see `LoopbackServer.stop()`.
  public func stop() { server.stop() }

  /// A dialer whose streams lead to the same server in this process, without sockets. ``LoopbackObfs4Behavior/Target``
  /// is an echo for them.
  ///
  /// - Parameter shape: of the streams, such as one byte at a time.
  public func dialer(shape: MemoryStream.Shape = MemoryStream.Shape()) -> MemoryDialer {
    MemoryDialer(shape: shape) { [bridge] _, stream in try await Obfs4ServerSession(bridge).serve(stream) }
  }
}

extension Obfs4Bridge {
  /// As operators give it out.
  fileprivate var certificate: String {
    String(Data(identity.identity.certificate).base64EncodedString().prefix { $0 != "=" })
  }
}
