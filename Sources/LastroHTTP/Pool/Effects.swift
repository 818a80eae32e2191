// SPDX-License-Identifier: Apache-2.0

/// What is to be done once a lock is free again: waking tasks, closing streams, talking to the pool.
///
/// Owner: the holder of the lock.
final class Effects {
  private var list: [() -> Void] = []

  func add(_ effect: @escaping () -> Void) { list.append(effect) }

  func takeAll() -> [() -> Void] {
    defer { list = [] }
    return list
  }
}
