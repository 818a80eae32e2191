// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
public import Lastro
public import LastroTesting

/// A WebSocket server on 127.0.0.1, plaintext or TLS, that follows its ``LoopbackWebSocketBehavior``.
///
/// ```swift
/// let server = try LoopbackWebSocketServer()
/// let socket = try await client.connect(server.url)
/// ```
public final class LoopbackWebSocketServer: Sendable {
  /// The record of events on all connections.
  public let record = EventRecorder<LoopbackWebSocketEvent>()
  private let server: LoopbackServer
  private let names: EventRecorder<String?>

  /// Starts a server on a port that the kernel chooses.
  ///
  /// - Parameters:
  ///   - tls: the TLS options. Default: plaintext.
  ///   - behavior: the behavior of the server. Default: an echo server.
  /// - Throws: `LoopbackError`.
  public init(
    tls: LoopbackTLS? = nil, _ behavior: LoopbackWebSocketBehavior = LoopbackWebSocketBehavior()
  ) throws(LoopbackError) {
    let names = EventRecorder<String?>()
    self.names = names
    server = try LoopbackServer(tls: tls) { [record] connection in
      names.record(connection.clientName)
      let session = WebSocketServerSession(behavior, connection: connection.number) { record.record($0) }
      while true {
        let bytes = connection.read(max: 65_536)
        guard !bytes.isEmpty else {
          record.record(.end)
          return
        }
        for step in session.receive(bytes) {
          switch step {
          case .write(let bytes): try connection.write(bytes)
          case .end: return connection.closeAfterPeer()
          case .cut: return connection.closeWithoutNotify()
          }
        }
      }
    }
  }

  /// The port.
  public var port: Int { server.port }

  /// The URL of the server, such as `ws://127.0.0.1:40123/`; over TLS the host is `localhost`.
  public var url: String { "ws" + server.baseURL.dropFirst(4) + "/" }

  /// The common names of the client certificates of the connections so far, in order.
  package var clients: [String?] { names.events }

  /// The number of connections accepted so far.
  package var acceptedConnections: Int { server.acceptedConnections }

  /// Closes the listener and every connection.
  public func stop() { server.stop() }

  /// Returns a dialer whose streams all lead to such a server in this process, without sockets.
  ///
  /// - Parameters:
  ///   - record: the record of the server's events.
  ///   - behavior: the behavior of the server. Default: an echo server.
  public static func dialer(
    record: EventRecorder<LoopbackWebSocketEvent> = EventRecorder(),
    _ behavior: LoopbackWebSocketBehavior = LoopbackWebSocketBehavior()
  ) -> MemoryDialer {
    dialer(shape: MemoryStream.Shape(), record: record, behavior)
  }

  /// - Parameter shape: the shape of the streams, such as one byte at a time.
  package static func dialer(
    shape: MemoryStream.Shape, record: EventRecorder<LoopbackWebSocketEvent> = EventRecorder(),
    _ behavior: LoopbackWebSocketBehavior = LoopbackWebSocketBehavior()
  ) -> MemoryDialer {
    MemoryDialer(shape: shape) { _, stream in try await serve(stream, record: record, behavior) }
  }

  /// Serves one stream to its end.
  ///
  /// - Throws: the errors of the stream.
  public static func serve(
    _ stream: any ByteStream, record: EventRecorder<LoopbackWebSocketEvent>,
    _ behavior: LoopbackWebSocketBehavior = LoopbackWebSocketBehavior()
  ) async throws {
    let session = WebSocketServerSession(behavior) { record.record($0) }
    while let data = try await stream.read() {
      for step in session.receive(Array(data)) {
        switch step {
        case .write(let bytes): try await stream.write(Data(bytes))
        case .end:
          try await stream.finishWriting()
          while try await stream.read() != nil {}
          return
        case .cut:
          (stream as? MemoryStream)?.truncate()
          return stream.close()
        }
      }
    }
    record.record(.end)
  }
}
