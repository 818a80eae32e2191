// SPDX-License-Identifier: Apache-2.0

internal import LastroSupport

/// Several cancelables that are cancelled together.
///
/// Adding and cancelling may race on different threads: whatever is added is cancelled exactly once, either with the
/// others or, when the bag already is cancelled, on the spot. The bag keeps what is added until it is cancelled.
public final class CancelableBag: Cancelable {
  /// `nil` once cancelled, so that one look under the lock tells where an addition belongs.
  private let members: Lock<[any Cancelable]?>

  /// Makes an empty bag.
  public init() { members = Lock([]) }

  /// Makes a bag with some members.
  public init(_ cancelables: some Sequence<any Cancelable>) { members = Lock(Array(cancelables)) }

  /// Whether ``cancel()`` was called.
  public var isCancelled: Bool { members.withLock { $0 == nil } }

  /// Cancels all members in the order they were added, once, on the calling thread, and lets go of them.
  public func cancel() {
    // Outside the lock: a member may be a bag, or may come back to this one.
    let cancelled = members.withLock { members -> [any Cancelable]? in
      defer { members = nil }
      return members
    }
    for member in cancelled ?? [] { member.cancel() }
  }

  /// Adds a member, or cancels it at once when the bag is cancelled.
  public func add(cancelable: any Cancelable) {
    let wasAdded = members.withLock { members in
      members?.append(cancelable)
      return members != nil
    }
    if !wasAdded { cancelable.cancel() }
  }

  /// Adds a member; `nil` adds nothing.
  public static func += (bag: CancelableBag, cancelable: (any Cancelable)?) {
    if let cancelable { bag.add(cancelable: cancelable) }
  }
}
