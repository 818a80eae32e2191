// SPDX-License-Identifier: Apache-2.0

package import Lastro

/// A piece of output for one write.
package struct Obfs4Piece: Sendable, Equatable {
  package let bytes: [UInt8]
  /// The delay before the next write, even of a later burst, in units of 100 µs.
  package let delay: Int
}

/// A planner that splits output into writes with delays.
package struct Obfs4Traffic: ~Copyable, Sendable {
  /// The maximum length of a payload that is planned at once. Longer payloads are planned in parts of this length, all
  /// in memory at once.
  package static let maximumPart = 32 * 1024
  /// The maximum number of times that the end of a burst is padded again because its padding overshot. With a server's
  /// table of a single length, every padding may overshoot, without end.
  private static let maximumOvershoots = 16

  package let mode: WispServer.Timing

  private var writer: Obfs4FrameWriter
  private let random: RandomSource
  private var lengths: Obfs4LengthTable
  private var pieceLengths: Obfs4LengthTable
  private var delays: Obfs4LengthTable

  /// Creates a planner.
  ///
  /// - Parameters:
  ///   - seed: 24 bytes. A client uses its own seed until the server's arrives; a server uses the seed that it sends.
  ///   - random: the source of all draws.
  /// - Throws: ``Obfs4Failure/cryptoUnavailable``.
  package init(
    _ writer: consuming Obfs4FrameWriter, mode: WispServer.Timing, seed: [UInt8], random: RandomSource
  ) throws(Obfs4Failure) {
    let delays = try Obfs4LengthTable.delays(ofSeed: seed)
    self.writer = writer
    self.mode = mode
    self.random = random
    self.delays = delays
    lengths = .lengths(ofSeed: seed)
    pieceLengths = lengths.withoutZero()
  }

  /// Replaces the tables with those of a new seed.
  ///
  /// - Throws: ``Obfs4Failure/cryptoUnavailable``. The tables are unchanged then.
  package mutating func use(seed: [UInt8]) throws(Obfs4Failure) {
    delays = try .delays(ofSeed: seed)
    lengths = .lengths(ofSeed: seed)
    pieceLengths = lengths.withoutZero()
  }

  /// Plans the writes of a payload, in parts of ``maximumPart`` bytes. An empty payload has no pieces.
  ///
  /// - Throws: ``Obfs4Failure/counterExhausted``, ``Obfs4Failure/cryptoUnavailable``. Nothing more can be written then.
  package mutating func burst(_ payload: ArraySlice<UInt8>) throws(Obfs4Failure) -> [Obfs4Piece] {
    var pieces: [Obfs4Piece] = []
    var rest = payload
    while !rest.isEmpty {
      let part = rest.prefix(Self.maximumPart)
      rest = rest.dropFirst(part.count)
      var bytes = try frames(part)
      switch mode {
      case .immediate:
        try pad(&bytes, to: drawLength())
        pieces.append(Obfs4Piece(bytes: bytes, delay: 0))
      case .paused:
        try pad(&bytes, to: drawLength())
        cut(bytes, into: &pieces)
      case .paranoid: try cutByLengths(&bytes, into: &pieces)
      }
    }
    return pieces
  }

  /// Returns the padding length of each frame that is needed to make a burst end at its target length.
  ///
  /// - Parameters:
  ///   - tail: the burst's length modulo the longest frame.
  ///   - target: the tail's desired length.
  package static func padding(tail: Int, target: Int) -> [Int] {
    let missing = target >= tail ? target - tail : Obfs4Frame.maximumLength - tail + target
    if missing == 0 { return [] }
    // A frame cannot be that short. A long frame is added first, and the burst ends 21 bytes beyond the target, as in
    // the reference implementation.
    if missing <= Obfs4Frame.overhead { return [Obfs4Frame.maximumPayload, missing] }
    return [missing - Obfs4Frame.overhead]
  }

  private mutating func frames(_ part: ArraySlice<UInt8>) throws(Obfs4Failure) -> [UInt8] {
    var bytes: [UInt8] = []
    let count = (part.count + Obfs4Frame.maximumPayload - 1) / Obfs4Frame.maximumPayload
    // At most two frames of padding follow.
    bytes.reserveCapacity((count + 2) * Obfs4Frame.maximumLength)
    var rest = part
    while !rest.isEmpty {
      let payload = rest.prefix(Obfs4Frame.maximumPayload)
      rest = rest.dropFirst(payload.count)
      try writer.write(payload: payload, padding: 0, into: &bytes)
    }
    return bytes
  }

  private mutating func pad(_ bytes: inout [UInt8], to target: Int) throws(Obfs4Failure) {
    for padding in Self.padding(tail: bytes.count % Obfs4Frame.maximumLength, target: target) {
      try writer.write(payload: [], padding: padding, into: &bytes)
    }
  }

  private func cut(_ bytes: [UInt8], into pieces: inout [Obfs4Piece]) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let piece = rest.prefix(Obfs4Frame.maximumLength)
      rest = rest.dropFirst(piece.count)
      pieces.append(Obfs4Piece(bytes: [UInt8](piece), delay: drawDelay()))
    }
  }

  private mutating func cutByLengths(_ bytes: inout [UInt8], into pieces: inout [Obfs4Piece]) throws(Obfs4Failure) {
    var done = 0
    var overshoots = 0
    while done < bytes.count {
      let target = drawPieceLength()
      let left = bytes.count - done
      if left < target, overshoots < Self.maximumOvershoots {
        for padding in Self.padding(tail: left, target: target) {
          try writer.write(payload: [], padding: padding, into: &bytes)
        }
        if bytes.count - done != target {
          overshoots += 1
          continue
        }
      }
      let end = min(done + target, bytes.count)
      pieces.append(Obfs4Piece(bytes: [UInt8](bytes[done..<end]), delay: drawDelay()))
      done = end
    }
  }

  private func drawLength() -> Int { lengths.draw(using: random) }

  private func drawDelay() -> Int { delays.draw(using: random) }

  /// Draws the length of a piece, which is never 0.
  private func drawPieceLength() -> Int { pieceLengths.draw(using: random) }
}
