// SPDX-License-Identifier: Apache-2.0

internal import CLastro

/// The number of the loop's turn, and the bytes that a TLS connection may read in one, where OpenSSL's side finds them.
///
/// A class: its memory outlives every connection that was made under it.
final class TurnShare {
  let pointer: UnsafeMutablePointer<clastro_turn>

  /// - Parameter bytes: what a TLS connection may read in one turn.
  init(bytes: Int) {
    pointer = .allocate(capacity: 1)
    pointer.initialize(to: clastro_turn(number: 1, bytes: bytes))
  }

  deinit { pointer.deallocate() }

  func beginTurn() { pointer.pointee.number &+= 1 }
}
