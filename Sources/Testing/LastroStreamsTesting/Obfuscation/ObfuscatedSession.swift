// SPDX-License-Identifier: Apache-2.0

internal import CLoopback
internal import FoundationEssentials
internal import Lastro
internal import LastroTesting

/// An action in response to received bytes.
enum ObfuscatedAction {
  /// Writes bytes, then pauses in units of 100 µs.
  case write([UInt8], pause: Int)
  /// Delivers bytes to the target.
  case deliver([UInt8])
  case end
  case reset
  /// Sends nothing more, and discards received bytes.
  case stall
}

/// The target of a stream.
package enum ObfuscatedRoute: Sendable, Hashable {
  /// An echo of all received bytes.
  case echo
  /// A port on 127.0.0.1.
  case port(Int)
}

/// The server's side of one obfs4 or Shadowsocks stream: bytes in, actions out.
protocol ObfuscatedSession: AnyObject {
  /// The target; `nil` until the client has named it.
  var route: ObfuscatedRoute? { get }
  /// The action for a stream whose port has no listener.
  var unreachable: ObfuscatedAction { get }

  /// Returns the actions for bytes from the client.
  func receive(_ bytes: [UInt8]) -> [ObfuscatedAction]
  /// Returns the actions for bytes from the target.
  func send(_ bytes: [UInt8]) -> [ObfuscatedAction]
}

/// A filter that splits writes into pieces, and ends the connection after a number of bytes.
struct ObfuscatedPieces {
  let pieceBytes: Int
  let cutAfter: Int?
  private var sentBytes = 0

  init(pieceBytes: Int, cutAfter: Int?) {
    self.pieceBytes = pieceBytes
    self.cutAfter = cutAfter
  }

  mutating func limited(_ actions: [ObfuscatedAction]) -> [ObfuscatedAction] {
    var result: [ObfuscatedAction] = []
    for action in actions {
      guard case .write(let bytes, let pause) = action else {
        result.append(action)
        continue
      }
      let left = cutAfter.map { max(0, $0 - sentBytes) } ?? .max
      sentBytes += bytes.count
      var rest = bytes.prefix(left)
      while !rest.isEmpty {
        let piece = rest.prefix(max(1, pieceBytes))
        rest = rest.dropFirst(piece.count)
        result.append(.write([UInt8](piece), pause: rest.isEmpty ? pause : 0))
      }
      if bytes.count >= left { return result + [.end] }
    }
    return result
  }
}

extension ObfuscatedSession {
  /// Serves a connection to its end on the calling thread.
  func serve(_ connection: LoopbackConnection) throws {
    // Bytes for the target that arrived before it was known.
    var early: [UInt8] = []
    while route == nil {
      let bytes = connection.read(max: 65_536)
      let isOpen = try perform(receive(bytes), on: connection) { payload in
        early += payload
        return []
      }
      guard !bytes.isEmpty, isOpen else { return }
    }
    guard case .port(let port)? = route else {
      // Sending an empty array could send padding.
      guard try early.isEmpty || perform(send(early), on: connection, delivering: send) else { return }
      while true {
        let bytes = connection.read(max: 65_536)
        guard !bytes.isEmpty, try perform(receive(bytes), on: connection, delivering: send) else { return }
      }
    }
    try lead(connection, to: port, early)
  }

  private func lead(_ connection: LoopbackConnection, to port: Int, _ early: [UInt8]) throws {
    let upstream = cloopback_connect_tcp(UInt16(clamping: port))
    guard upstream >= 0 else {
      _ = try perform([unreachable], on: connection) { _ in [] }
      return
    }
    defer { cloopback_close(upstream) }
    guard early.isEmpty || cloopback_send(upstream, early, early.count) >= 0 else { return }
    try connection.relay(to: upstream) { bytes throws(LoopbackError) in
      try perform(receive(bytes), on: connection) { payload in
        cloopback_send(upstream, payload, payload.count) < 0 ? [.end] : []
      }
    } fromUpstream: { bytes throws(LoopbackError) in
      try perform(send(bytes), on: connection) { _ in [] }
    }
  }

  /// - Returns: whether the connection stays open.
  private func perform(
    _ actions: [ObfuscatedAction], on connection: LoopbackConnection,
    delivering deliver: ([UInt8]) -> [ObfuscatedAction]
  ) throws(LoopbackError) -> Bool {
    for action in actions {
      switch action {
      case .write(let bytes, let pause):
        try connection.write(bytes)
        if pause > 0, !connection.pause(.microseconds(100) * pause) { return false }
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
  func serve(_ stream: MemoryStream) async throws {
    while let data = try await stream.read() {
      guard try await perform(receive([UInt8](data)), on: stream) else { return }
    }
    // The protocols have no half-close: when the client's bytes end, the client has closed, so end our direction too.
    try await stream.finishWriting()
  }

  private func perform(_ actions: [ObfuscatedAction], on stream: MemoryStream) async throws -> Bool {
    for action in actions {
      switch action {
      // Pauses apply only to network connections.
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
