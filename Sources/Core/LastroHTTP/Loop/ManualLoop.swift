// SPDX-License-Identifier: Apache-2.0

package import Lastro
internal import LastroSupport

/// The driver of loops in simulations and tests: their caller turns the loop, with a clock and a reactor of its own.
///
/// It starts no thread, opens no descriptor and never waits. One thread at a time may use it.
package final class ManualLoop {
  package let loop: EventLoop
  private let reactor: any Reactor
  private let parts: LoopParts
  private let turner: LoopTurner
  private var hasEnded = false

  /// Creates a loop.
  ///
  /// - Parameters:
  ///   - time: the clock that measures limits.
  ///   - reactor: the source of its events, whose wait returns at once.
  ///   - guest: its guest. Default: none.
  package init(time: TimeSource, reactor: any Reactor, guest: (any LoopGuest)? = nil) {
    self.reactor = reactor
    parts = LoopParts(inbox: LoopInbox(waking: -1), time: LoopTime(time))
    loop = EventLoop(parts)
    turner = LoopTurner(reactor, parts) { _ in guest }
  }

  deinit { end() }

  /// The time at which the loop must be turned next, on its own clock: 0 for now, `.max` for never; `nil` if the loop
  /// has ended.
  package var due: Int64? {
    guard !hasEnded, let due = turner.nextDue() else { return nil }
    return reactor.wait(until: due) > 0 ? 0 : due
  }

  /// Performs a single turn. Returns false if the loop has ended.
  @discardableResult
  package func turnOnce() -> Bool {
    guard !hasEnded else { return false }
    parts.thread.setToCurrent()
    if !turner.turn() { end() }
    return !hasEnded
  }

  /// Turns the loop until nothing is ready and no limit has passed.
  ///
  /// - Parameter turns: the maximum number of turns. Default 10,000.
  /// - Returns: false if descriptors are still ready after that many turns, which means that the loop is busy without
  ///   progress.
  package func settle(turns: Int = 10_000) -> Bool {
    parts.thread.setToCurrent()
    for _ in 0..<turns where !hasEnded {
      guard let due = turner.nextDue() else {
        end()
        break
      }
      let count = reactor.wait(until: due)
      if count == 0, due > 0 { return true }
      turner.turn(count)
    }
    return hasEnded
  }

  private func end() {
    guard !hasEnded else { return }
    hasEnded = true
    turner.end()
    parts.finished.change { $0 = true }
  }
}
