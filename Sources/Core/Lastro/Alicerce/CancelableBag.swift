// SPDX-License-Identifier: Apache-2.0

internal import LastroSupport

/// A collection of cancelables that are cancelled together.
///
/// Adding and cancelling may race on different threads. Each member is cancelled exactly once: together with the others
/// or, if the bag is already cancelled, when it is added. The bag retains its members until it is cancelled.
package final class CancelableBag: Cancelable {
  /// The members; `nil` once cancelled, so that a single access under the lock decides about an addition.
  private let members: Lock<[any Cancelable]?>

  /// Makes an empty bag.
  package init() { members = Lock([]) }

  /// Makes a bag with some members.
  package init(_ cancelables: some Sequence<any Cancelable>) { members = Lock(Array(cancelables)) }

  /// Whether ``cancel()`` was called.
  package var isCancelled: Bool { members.withLock { $0 == nil } }

  /// Cancels all members once, in the order in which they were added, on the calling thread, and releases them.
  package func cancel() {
    // Cancel outside the lock: a member may be a bag, or may call this one.
    let cancelled = members.withLock { members -> [any Cancelable]? in
      defer { members = nil }
      return members
    }
    for member in cancelled ?? [] { member.cancel() }
  }

  /// Adds a member, or cancels it at once if the bag is cancelled.
  package func add(cancelable: any Cancelable) {
    let wasAdded = members.withLock { members in
      members?.append(cancelable)
      return members != nil
    }
    if !wasAdded { cancelable.cancel() }
  }

  /// Adds a member; `nil` adds nothing.
  package static func += (bag: CancelableBag, cancelable: (any Cancelable)?) {
    if let cancelable { bag.add(cancelable: cancelable) }
  }
}
