// SPDX-License-Identifier: Apache-2.0

/// A buffer that assembles units of known lengths from pieces of any length.
struct UnitGatherer {
  /// A complete unit: a part of the input, or gathered bytes.
  struct Unit {
    fileprivate let whole: UnsafeBufferPointer<UInt8>?
    fileprivate let gathered: [UInt8]

    func withBytes(_ body: (UnsafeBufferPointer<UInt8>) -> Void) {
      if let whole { body(whole) } else { gathered.withUnsafeBufferPointer(body) }
    }
  }

  /// The bytes of the incomplete unit.
  private var held: [UInt8] = []

  /// Whether no byte of the next unit has been received.
  var isEmpty: Bool { held.isEmpty }

  /// Takes a unit from the front. Returns nil, with all bytes taken, if the unit is still incomplete.
  mutating func next(_ wanted: Int, of rest: inout Slice<UnsafeBufferPointer<UInt8>>) -> Unit? {
    if held.isEmpty, rest.count >= wanted {
      defer { rest = rest.dropFirst(wanted) }
      return Unit(whole: UnsafeBufferPointer(rebasing: rest.prefix(wanted)), gathered: [])
    }
    let piece = rest.prefix(wanted - held.count)
    held += piece
    rest = rest.dropFirst(piece.count)
    guard held.count == wanted else { return nil }
    defer { held.removeAll(keepingCapacity: true) }
    return Unit(whole: nil, gathered: held)
  }
}
