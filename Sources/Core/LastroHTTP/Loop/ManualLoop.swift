// SPDX-License-Identifier: Apache-2.0

package import Lastro
internal import LastroSupport

/// An event loop that its caller turns, under a clock of the caller's: for tests and simulations.
///
/// It starts no thread, opens no descriptor and never waits. One thread at a time may use it.
package final class ManualLoop {
  package let loop: EventLoop
  /// The readiness of links in memory.
  package let reactor = SimulatedReactor()
  private let identity = ThreadIdentity()
  private let finished = Watched(false)
  private let turner: LoopTurner
  private var hasEnded = false

  /// Makes a loop.
  ///
  /// - Parameters:
  ///   - time: measures limits.
  ///   - prepare: adds guests and engines before the first turn.
  package init(time: TimeSource, _ prepare: (LoopCore) -> Void = { _ in }) {
    let inbox = LoopInbox.ofCaller(), seat = LoopSeat(), time = LoopTime(time)
    loop = EventLoop(inbox, seat, identity, time, finished)
    turner = LoopTurner(reactor, inbox, seat, time, prepare: prepare)
  }

  deinit { end() }

  /// The time at which the loop has something to do, as its clock counts: 0 for now, `.max` for never; `nil` once it
  /// has ended.
  package var due: Int64? {
    guard !hasEnded, let wait = turner.nextWait() else { return nil }
    return reactor.wait(wait) > 0 || wait.left == 0 ? 0 : wait.due
  }

  /// Performs a single turn. False: the loop has ended.
  @discardableResult
  func turnOnce() -> Bool {
    guard !hasEnded else { return false }
    identity.begin()
    if !turner.turn() { end() }
    return !hasEnded
  }

  /// Turns the loop until nothing is ready and no limit has passed.
  ///
  /// - Parameter turns: the most turns. Default 10,000.
  /// - Returns: false where something is ready after that many turns: the loop is busy without progress.
  package func settle(turns: Int = 10_000) -> Bool {
    identity.begin()
    for _ in 0..<turns where !hasEnded {
      guard let wait = turner.nextWait() else {
        end()
        break
      }
      let count = reactor.wait(wait)
      if count == 0, wait.left > 0 { return true }
      turner.turn(count)
    }
    return hasEnded
  }

  private func end() {
    guard !hasEnded else { return }
    hasEnded = true
    turner.end()
    finished.change { $0 = true }
  }
}
