// SPDX-License-Identifier: Apache-2.0

/// How much of the times and lengths of what is written is hidden: `iat-mode`.
package enum Obfs4TimingMode: Int, Sendable, CaseIterable {
  /// Lengths of bursts are drawn; no delays.
  case off = 0
  /// As ``off``, and the burst goes in pieces of a frame's size with delays between them.
  case delays = 1
  /// The length of each piece is drawn, and the delay behind it.
  case lengths = 2
}

/// One write.
package struct Obfs4Piece: Sendable, Equatable {
  package let bytes: [UInt8]
  /// How long to wait before the next write, also of a later burst: units of 100 µs.
  package let delay: Int
}

/// Plans what is written, in which pieces and with which delays.
package struct Obfs4Traffic: ~Copyable, Sendable {
  /// A plan of a longer payload is a plan of parts of this length, all in memory at once.
  package static let maximumPart = 32 * 1024
  /// How often a burst's end is lengthened once more because its padding overshot. With a server's table of one length
  /// every padding may overshoot, without end.
  private static let maximumOvershoots = 16

  package let mode: Obfs4TimingMode

  private var writer: Obfs4FrameWriter
  private var random: any Obfs4Random
  private var lengths: Obfs4LengthTable
  private var pieceLengths: Obfs4LengthTable
  private var delays: Obfs4LengthTable

  /// - Parameters:
  ///   - seed: 24 bytes: a client's own, until the server's comes; a server's, which it sends.
  ///   - random: Where the draws are from.
  /// - Throws: ``Obfs4Failure/cryptoUnavailable``.
  package init(
    _ writer: consuming Obfs4FrameWriter, mode: Obfs4TimingMode, seed: [UInt8], random: any Obfs4Random
  ) throws(Obfs4Failure) {
    let delays = try Obfs4LengthTable.delays(ofSeed: seed)
    self.writer = writer
    self.mode = mode
    self.random = random
    self.delays = delays
    lengths = .lengths(ofSeed: seed)
    pieceLengths = lengths.withoutZero()
  }

  /// New tables.
  ///
  /// - Throws: ``Obfs4Failure/cryptoUnavailable``; the tables are as they were.
  package mutating func use(seed: [UInt8]) throws(Obfs4Failure) {
    delays = try .delays(ofSeed: seed)
    lengths = .lengths(ofSeed: seed)
    pieceLengths = lengths.withoutZero()
  }

  /// Plans a payload, in parts of ``maximumPart`` bytes. An empty one needs no piece.
  ///
  /// - Throws: ``Obfs4Failure/counterExhausted``, ``Obfs4Failure/cryptoUnavailable``; nothing more can be written.
  package mutating func burst(_ payload: ArraySlice<UInt8>) throws(Obfs4Failure) -> [Obfs4Piece] {
    var pieces: [Obfs4Piece] = []
    var rest = payload
    while !rest.isEmpty {
      let part = rest.prefix(Self.maximumPart)
      rest = rest.dropFirst(part.count)
      var bytes = try frames(part)
      switch mode {
      case .off:
        try pad(&bytes, to: drawLength())
        pieces.append(Obfs4Piece(bytes: bytes, delay: 0))
      case .delays:
        try pad(&bytes, to: drawLength())
        cut(bytes, into: &pieces)
      case .lengths: try cutByLengths(&bytes, into: &pieces)
      }
    }
    return pieces
  }

  /// How many bytes of padding each frame has that makes a burst end where it should.
  ///
  /// - Parameters:
  ///   - tail: The burst's length without whole frames of the longest kind.
  ///   - target: What the tail should be.
  package static func padding(tail: Int, target: Int) -> [Int] {
    let missing = target >= tail ? target - tail : Obfs4Frame.maximumLength - tail + target
    if missing == 0 { return [] }
    // No frame is as short: a long one comes first, and the end is 21 bytes behind the target, as it is with the
    // reference.
    if missing <= Obfs4Frame.overhead { return [Obfs4Frame.maximumPayload, missing] }
    return [missing - Obfs4Frame.overhead]
  }

  private mutating func frames(_ part: ArraySlice<UInt8>) throws(Obfs4Failure) -> [UInt8] {
    var bytes: [UInt8] = []
    let count = (part.count + Obfs4Frame.maximumPayload - 1) / Obfs4Frame.maximumPayload
    // Two frames of padding at most come behind.
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

  private mutating func cut(_ bytes: [UInt8], into pieces: inout [Obfs4Piece]) {
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

  private mutating func drawLength() -> Int { lengths.draw(using: &random) }

  private mutating func drawDelay() -> Int { delays.draw(using: &random) }

  /// A piece of 0 bytes is no piece.
  private mutating func drawPieceLength() -> Int { pieceLengths.draw(using: &random) }
}
