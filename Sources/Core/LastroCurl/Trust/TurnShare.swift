// SPDX-License-Identifier: Apache-2.0

internal import CLastro

/// The number of the loop's turn, and the number of bytes that a TLS connection may read per turn, in memory that C
/// code can read.
///
/// It is a class so that its memory outlives every connection that was made under it.
final class TurnShare {
  let pointer: UnsafeMutablePointer<clastro_turn>

  /// Creates a share.
  ///
  /// - Parameter bytes: the number of bytes that a TLS connection may read per turn.
  init(bytes: Int) {
    pointer = .allocate(capacity: 1)
    pointer.initialize(to: clastro_turn(number: 1, bytes: bytes))
  }

  deinit { pointer.deallocate() }

  func beginTurn() { pointer.pointee.number &+= 1 }
}
