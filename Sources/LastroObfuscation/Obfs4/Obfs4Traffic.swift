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
  /// What a burst's payload is at most, if its plan is not to hold more than a few times 32 KiB.
  package static let maximumPart = 32 * 1024

  package let mode: Obfs4TimingMode

  /// - Parameters:
  ///   - seed: 24 bytes: a client's own, until the server's comes; a server's, which it sends.
  ///   - random: Where the draws are from.
  /// - Throws: ``Obfs4Failure/cryptoUnavailable``.
  package init(
    _ writer: consuming Obfs4FrameWriter, mode: Obfs4TimingMode, seed: [UInt8], random: any Obfs4Random
  ) throws(Obfs4Failure) {
    throw .cryptoUnavailable
  }

  /// New tables.
  package mutating func use(seed: [UInt8]) throws(Obfs4Failure) {
    throw .cryptoUnavailable
  }

  /// Plans a payload, in parts of ``maximumPart`` bytes. An empty one needs no piece.
  ///
  /// - Throws: ``Obfs4Failure/counterExhausted``, ``Obfs4Failure/cryptoUnavailable``; nothing more can be written.
  package mutating func burst(_ payload: ArraySlice<UInt8>) throws(Obfs4Failure) -> [Obfs4Piece] {
    throw .cryptoUnavailable
  }
}
