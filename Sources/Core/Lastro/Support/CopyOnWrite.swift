// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// A value behind a reference, so that a copy costs one retain, regardless of the value's size. A shared value is
/// copied before it is changed.
package struct CopyOnWrite<Value: Sendable>: Sendable {
  // Sendable because `value` changes only while a single `CopyOnWrite` refers to the box.
  private final class Box: @unchecked Sendable {
    // Unchecked for the same reason: no other reference reads the value while it changes.
    @exclusivity(unchecked) var value: Value
    let isMarked = Atomic(false)

    init(_ value: Value) { self.value = value }
  }

  private var box: Box

  package init(_ value: Value) { box = Box(value) }

  package var value: Value {
    _read { yield box.value }
    _modify {
      if !isKnownUniquelyReferenced(&box) { box = Box(box.value) }
      box.isMarked.store(false, ordering: .relaxed)
      yield &box.value
    }
  }

  /// Whether the current value was marked. A change of the value removes the mark.
  var isMarked: Bool { box.isMarked.load(ordering: .relaxed) }

  func mark() { box.isMarked.store(true, ordering: .relaxed) }

  /// Returns whether both refer to the same value. If not, the values may still be equal.
  func isIdentical(to other: Self) -> Bool { box === other.box }
}

extension CopyOnWrite: Equatable where Value: Equatable {
  package static func == (lhs: Self, rhs: Self) -> Bool { lhs.isIdentical(to: rhs) || lhs.value == rhs.value }
}

extension CopyOnWrite: Hashable where Value: Hashable {
  package func hash(into hasher: inout Hasher) { hasher.combine(value) }
}
