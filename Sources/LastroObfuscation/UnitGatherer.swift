// SPDX-License-Identifier: Apache-2.0

/// Units of known lengths, out of bytes that come in pieces of any.
struct UnitGatherer {
  /// A unit where it came, or gathered.
  struct Unit {
    fileprivate let whole: UnsafeBufferPointer<UInt8>?
    fileprivate let gathered: [UInt8]

    func withBytes(_ body: (UnsafeBufferPointer<UInt8>) -> Void) {
      if let whole { body(whole) } else { gathered.withUnsafeBufferPointer(body) }
    }
  }

  /// What came of the unit that is waited for.
  private var held: [UInt8] = []

  /// Whether nothing of the next unit has come.
  var isEmpty: Bool { held.isEmpty }

  /// Takes a unit from the front; nil, with all taken, where its end has not come.
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
