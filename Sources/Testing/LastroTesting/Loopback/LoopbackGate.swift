// SPDX-License-Identifier: Apache-2.0

import CLoopback
import Synchronization

/// A gate at which a test holds a loopback handler until the test opens it, without sleeping or polling.
///
/// The handler calls ``LoopbackConnection/wait(for:)``, the test ``open()``. An open gate stays open.
package final class LoopbackGate: Sendable {
  package let readEnd: Int32
  private let writeEnd: Atomic<Int32>

  /// Creates a closed gate. It holds two descriptors until it is opened or dropped.
  ///
  /// - Throws: ``LoopbackError/outOfResources(_:)`` if no descriptors are left.
  package init() throws(LoopbackError) {
    var readEnd: Int32 = -1
    var writeEnd: Int32 = -1
    guard cloopback_pipe(&readEnd, &writeEnd) else { throw .outOfResources("a pipe could not be made") }
    self.readEnd = readEnd
    self.writeEnd = Atomic(writeEnd)
  }

  deinit {
    open()
    cloopback_close(readEnd)
  }

  /// Opens the gate for all current and later waiters. It may be called from any thread, and more than once.
  package func open() {
    let end = writeEnd.exchange(-1, ordering: .acquiringAndReleasing)
    if end >= 0 { cloopback_close(end) }
  }

  /// Whether the gate is open.
  package var isOpen: Bool { writeEnd.load(ordering: .acquiring) < 0 }
}
