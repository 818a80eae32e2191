// SPDX-License-Identifier: Apache-2.0

internal import CLoopback
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

extension Obfs4ServerSession {
  private static let pauseUnit = Duration.microseconds(100)

  /// Serves a connection to its end, on its thread.
  fileprivate func serve(_ connection: LoopbackConnection) throws {
    guard case .port(let port) = target else {
      while true {
        let bytes = connection.read(max: 65_536)
        guard !bytes.isEmpty, try perform(receive(bytes), on: connection, delivering: echo) else { return }
      }
    }
    let upstream = cloopback_connect_tcp(UInt16(clamping: port))
    guard upstream >= 0 else { return connection.stall() }
    defer { cloopback_close(upstream) }
    try connection.relay(to: upstream) { bytes throws(LoopbackError) in
      try perform(receive(bytes), on: connection) { payload in
        cloopback_send(upstream, payload, payload.count) < 0 ? [.end] : []
      }
    } fromUpstream: { bytes throws(LoopbackError) in
      try perform(send(bytes), on: connection) { _ in [] }
    }
  }

  private func echo(_ payload: [UInt8]) -> [Action] { send(payload) }

  /// - Returns: whether the connection goes on.
  private func perform(
    _ actions: [Action], on connection: LoopbackConnection, delivering deliver: ([UInt8]) -> [Action]
  ) throws(LoopbackError) -> Bool {
    for action in actions {
      switch action {
      case .write(let bytes, let pause):
        try connection.write(bytes)
        if pause > 0, !connection.pause(Self.pauseUnit * pause) { return false }
      case .deliver(let payload):
        guard try perform(deliver(payload), on: connection, delivering: deliver) else { return false }
      case .end:
        connection.closeAfterPeer()
        return false
      case .reset:
        connection.resetAfterDelivery()
        return false
      case .stall:
        connection.stall()
        return false
      }
    }
    return true
  }

  /// Serves a stream in memory to its end, as an echo.
  fileprivate func serve(_ stream: MemoryStream) async throws {
    while let data = try await stream.read() {
      guard try await perform(receive([UInt8](data)), on: stream) else { return }
    }
    // A client that closed reads nothing more.
    try await stream.finishWriting()
  }

  private func perform(_ actions: [Action], on stream: MemoryStream) async throws -> Bool {
    for action in actions {
      switch action {
      // Pauses are for the network.
      case .write(let bytes, _): try await stream.write(Data(bytes))
      case .deliver(let payload): guard try await perform(send(payload), on: stream) else { return false }
      case .end:
        try await stream.finishWriting()
        while try await stream.read() != nil {}
        return false
      case .reset:
        stream.truncate()
        while try await stream.read() != nil {}
        return false
      case .stall:
        while try await stream.read() != nil {}
        return false
      }
    }
    return true
  }
}
