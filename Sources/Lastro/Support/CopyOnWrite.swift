// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// A value behind one reference, so that a copy costs one retain however large the value is. Changing it copies it
/// first where it is shared.
package struct CopyOnWrite<Value: Sendable>: Sendable {
  // Sendable because `value` changes only while one `CopyOnWrite` alone refers to the box.
  private final class Box: @unchecked Sendable {
    // Unchecked because of that, too: no other reference reads while it changes.
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

  /// Whether this very value has been marked. It is not any more once it has changed.
  var isMarked: Bool { box.isMarked.load(ordering: .relaxed) }

  func mark() { box.isMarked.store(true, ordering: .relaxed) }

  /// Whether both refer to the same value. Where they do not, the values may still be equal.
  func isIdentical(to other: Self) -> Bool { box === other.box }
}

extension CopyOnWrite: Equatable where Value: Equatable {
  package static func == (lhs: Self, rhs: Self) -> Bool { lhs.isIdentical(to: rhs) || lhs.value == rhs.value }
}

extension CopyOnWrite: Hashable where Value: Hashable {
  package func hash(into hasher: inout Hasher) { hasher.combine(value) }
}
