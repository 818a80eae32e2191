// SPDX-License-Identifier: Apache-2.0

import LastroTesting

/// A client that does nothing of HTTP/2 by itself: every frame is the test's.
final class HTTP2TestClient {
  typealias Frame = LoopbackHTTP2Frame

  private let client: LoopbackClient
  private var buffer: [UInt8] = []
  /// How the connection ended.
  private(set) var ending: LoopbackClient.Ending?

  /// Sends the preface and settings; reads the server's, and the acknowledgement of ours.
  init(_ client: LoopbackClient, settings: [LoopbackHTTP2Settings.Setting] = []) throws {
    self.client = client
    try client.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
    try send(.settings(settings))
  }

  convenience init(_ server: LoopbackServer, settings: [LoopbackHTTP2Settings.Setting] = []) throws {
    try self.init(LoopbackClient(to: server.endpoint), settings: settings)
    _ = try [frame(), frame()]
  }

  func send(_ frames: Frame...) throws { try client.send(frames.flatMap(\.bytes)) }

  func get(_ path: String, stream: UInt32, method: String = "GET", ends: Bool = true) throws {
    try send(.headers(Self.fields(path, method: method), stream: stream, ends: ends))
  }

  static func fields(_ path: String, method: String = "GET") -> [RawRequestHead.Field] {
    [(":method", method), (":scheme", "http"), (":authority", "h"), (":path", path)].map {
      RawRequestHead.Field(name: $0, value: $1)
    }
  }

  /// The next frame; `nil` at the end.
  func frame() throws -> Frame? {
    guard fill(9) else { return nil }
    let length = buffer[..<3].reduce(0) { $0 << 8 | Int($1) }
    guard fill(9 + length) else { return nil }
    let stream = buffer[5..<9].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
    let frame = Frame(
      .init(rawValue: buffer[3]), flags: buffer[4], stream: stream, payload: Array(buffer[9..<9 + length]))
    buffer.removeFirst(9 + length)
    return frame
  }

  func frames(_ count: Int) throws -> [Frame] {
    var frames: [Frame] = []
    while frames.count < count, let frame = try frame() { frames.append(frame) }
    return frames
  }

  /// All to the end of the connection; what is no whole frame is left in ``rest``.
  func allFrames() throws -> [Frame] {
    var frames: [Frame] = []
    while let frame = try frame() { frames.append(frame) }
    return frames
  }

  /// Bytes read that are no whole frame.
  var rest: [UInt8] { buffer }

  private func fill(_ count: Int) -> Bool {
    while buffer.count < count {
      let (more, ending) = client.receive()
      buffer += more
      if let ending {
        self.ending = ending
        return false
      }
    }
    return true
  }
}
