// SPDX-License-Identifier: Apache-2.0

/// What is to be done about what came.
enum ObfuscatedAction {
  /// Bytes to write, then a pause in units of 100 µs.
  case write([UInt8], pause: Int)
  /// Bytes for the target.
  case deliver([UInt8])
  case end
  case reset
  /// Nothing more is said, and what comes is thrown away.
  case stall
}

/// Where a server leads a stream.
enum ObfuscatedRoute {
  /// The client has not said yet.
  case unknown
  case echo
  /// A port of 127.0.0.1.
  case port(Int)
}

/// The server's side of one stream of obfs4 or Shadowsocks: bytes in, actions out.
protocol ObfuscatedSession: AnyObject {
  var route: ObfuscatedRoute { get }
  /// What becomes of a stream whose port has no listener.
  var unreachable: ObfuscatedAction { get }

  /// What is to be done about bytes of the client.
  func receive(_ bytes: [UInt8]) -> [ObfuscatedAction]
  /// What is to be done about bytes of the target.
  func send(_ bytes: [UInt8]) -> [ObfuscatedAction]
}

/// In pieces as long as they are to be, and not more than are to be sent.
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
