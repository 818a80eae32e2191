// SPDX-License-Identifier: Apache-2.0

import CLoopback
import Synchronization

/// Lets a test hold a loopback handler at one place until the test says so; no sleeping, no polling.
///
/// The handler calls ``LoopbackConnection/wait(for:)``, the test ``open()``. Once open it stays open.
public final class LoopbackGate: Sendable {
  package let readEnd: Int32
  private let writeEnd: Atomic<Int32>

  /// Makes a closed gate. It holds two descriptors until it is opened or dropped.
  ///
  /// - Throws: ``LoopbackError/outOfResources(_:)`` when there are no descriptors left.
  public init() throws(LoopbackError) {
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

  /// Lets all tasks through, those that come later too. May be called from any thread, more than once.
  public func open() {
    let end = writeEnd.exchange(-1, ordering: .acquiringAndReleasing)
    if end >= 0 { cloopback_close(end) }
  }

  /// Whether it was opened.
  public var isOpen: Bool { writeEnd.load(ordering: .acquiring) < 0 }
}
