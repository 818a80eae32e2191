// SPDX-License-Identifier: Apache-2.0

import Foundation
import Lastro
import LastroCurl
import LastroTesting
import LastroWebSocket
import TestSupport
import Testing

/// A server of extended CONNECT (RFC 8441) whose script handles the frames of streams, and clients of it.
struct TunnelServer {
  typealias Script = @Sendable (LoopbackHTTP2Connection, LoopbackHTTP2Frame) throws -> Void

  let loopback: LoopbackServer
  /// The frames that were received, except SETTINGS, PING and WINDOW_UPDATE: kind, flags, stream. `ack` is the
  /// acknowledgement of SETTINGS.
  let received = EventRecorder<String>()
  let engine: CurlTransport

  /// - Parameters:
  ///   - announces: whether the first SETTINGS announce extended CONNECT. Default true.
  ///   - script: handles a frame.
  init(announces: Bool = true, _ script: @escaping Script) throws {
    let received = self.received
    var settings = LoopbackHTTP2Settings()
    if announces { settings.others = [.init(8, 1)] }
    loopback = try .http2Script(settings: settings) { connection in
      while let frame = try connection.readFrame() {
        switch frame.kind {
        case .settings where frame.flags == 0:
          try connection.write(LoopbackHTTP2Frame(.settings, flags: 1, stream: 0))
        case .settings: received.record("ack")
        case .ping where frame.flags == 0:
          try connection.write(LoopbackHTTP2Frame(.ping, flags: 1, stream: 0, payload: frame.payload))
        case .ping, .windowUpdate: break
        default:
          let code = frame.kind == .data || frame.kind == .headers ? [] : frame.payload.suffix(4)
          received.record("\(frame.kind.rawValue) \(frame.flags) \(frame.stream) \(code.map(String.init).joined())")
          try script(connection, frame)
        }
      }
    }
    engine = try CurlTransport()
  }

  /// Returns the request of a handshake over HTTP/2 with prior knowledge.
  func request(_ path: String = "/") throws -> ResourceRequest {
    var options = RequestOptions()
    options.connection = ConnectionOptions()
    options.connection?.proxy = .none
    options.connection?.httpVersion = .http2
    return try ResourceRequest(url: "http://127.0.0.1:\(loopback.port)\(path)", options: options)
  }

  func client() -> WebSocketClient {
    var client = WebSocketClient(dialer: engine, stack: .patient)
    client.configuration.http2 = .whenAnnounced
    client.configuration.keepAlive = nil
    return client
  }

  func connect() async throws -> WebSocket { try await client().connect(to: RawHTTPResource.raw(try request())) }

  /// Returns the failure of a handshake.
  func refusal() async throws -> HTTPFetchError<any Error> {
    let error = await #expect(throws: WebSocketError.self) { try await connect() }
    return try #require(error?.handshakeFailure)
  }

  /// Waits until a frame that begins with the given words was received.
  func waitForFrame(_ words: String) async throws {
    var count = 0
    while true {
      let events = try await received.waitForEvents(count: count + 1)
      if events.contains(where: { $0.hasPrefix(words) }) { return }
      count = events.count
    }
  }

  // MARK: scripts

  /// Accepts tunnels, sends every message back, and ends each tunnel after a Close frame.
  static let echo: Script = { connection, frame in
    switch frame.kind {
    case .headers: try connection.write(.head(200, stream: frame.stream))
    case .data:
      guard let message = ClientFrame(frame.payload) else { return }
      try connection.write(
        .data([message.first, UInt8(message.payload.count)] + message.payload, stream: frame.stream),
        .windowUpdate(UInt32(frame.payload.count), stream: 0),
        .windowUpdate(UInt32(frame.payload.count), stream: frame.stream))
      if message.first == 0x88 { try connection.write(.data([], stream: frame.stream, ends: true)) }
    default: break
    }
  }

  /// Responds to each request with the same frames.
  static func answering(_ frames: @escaping @Sendable (UInt32) -> [LoopbackHTTP2Frame]) -> Script {
    { connection, frame in
      guard frame.kind == .headers else { return }
      for answer in frames(frame.stream) { try connection.write(answer) }
    }
  }
}

/// A short frame of a client, unmasked.
struct ClientFrame {
  let first: UInt8
  let payload: [UInt8]

  /// - Parameter bytes: the whole frame, and nothing else. `nil` if they are not that.
  init?(_ bytes: [UInt8]) {
    guard bytes.count >= 6, bytes[1] & 0x80 != 0, bytes.count == 6 + Int(bytes[1] & 0x7F) else { return nil }
    first = bytes[0]
    payload = bytes.dropFirst(6).enumerated().map { $0.element ^ bytes[2 + $0.offset % 4] }
  }
}

extension WebSocketError {
  var handshakeFailure: HTTPFetchError<any Error>? {
    if case .handshake(let failure) = reason { failure } else { nil }
  }
}
