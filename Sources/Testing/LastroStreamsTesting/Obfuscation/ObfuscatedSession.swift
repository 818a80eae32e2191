// SPDX-License-Identifier: Apache-2.0

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
enum ObfuscatedRoute {
  /// The client has not named the target yet.
  case unknown
  case echo
  /// A port on 127.0.0.1.
  case port(Int)
}

/// The server's side of one obfs4 or Shadowsocks stream: bytes in, actions out.
protocol ObfuscatedSession: AnyObject {
  var route: ObfuscatedRoute { get }
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
