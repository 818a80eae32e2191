// SPDX-License-Identifier: Apache-2.0

/// The parts of a loop that its engines and guests share.
///
/// Owner: ``LoopCore``. Thread: the loop's.
package final class LoopContext {
  private static let scratchBytes = 64 * 1024

  package let inbox: LoopInbox
  package let clock: LoopClock
  let deliveries = Deliveries()
  let bodies = BodyBlockStore()
  /// The executor of the reads and writes of streams that Lastro implements.
  let executor: LoopExecutor
  /// Memory for received bytes. As with the two properties below, only one function at a time may use it.
  package let scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: scratchBytes, alignment: 16)
  /// Memory for bytes to send. It may be used while the memory for received bytes is in use.
  let sendingSpace = UnsafeMutableRawBufferPointer.allocate(byteCount: scratchBytes, alignment: 16)
  /// Memory for a piece of a request body that an HTTP/2 connection reads while `sendingSpace` is in use.
  let bodySpace = UnsafeMutableRawBufferPointer.allocate(byteCount: scratchBytes, alignment: 16)
  /// Whether, since the job that is about to begin was created, the poller was queried and all its events were
  /// processed. If so, no unread byte of an idle connection arrived before the job was created.
  var hasLooked = false
  /// The number of running exchanges of all engines.
  var exchanges = 0
  /// The time at which the limits of engines are checked next.
  var enginesDue = Int64.max
  /// Engines with events to process in the next ``HTTPEngine/turn()``.
  private var turning: [HTTPEngine] = []
  /// Engines with work to do before the turn ends.
  private var settling: [HTTPEngine] = []

  init(inbox: LoopInbox, time: LoopTime, executor: LoopExecutor) {
    self.inbox = inbox
    self.executor = executor
    clock = LoopClock(time)
  }

  deinit {
    scratch.deallocate()
    sendingSpace.deallocate()
    bodySpace.deallocate()
  }

  // MARK: Engines

  func noteDue(_ time: Int64) { enginesDue = min(enginesDue, time) }

  func mustTurn(_ engine: HTTPEngine) { turning.append(engine) }

  func mustSettle(_ engine: HTTPEngine) { settling.append(engine) }

  var isTurnWanted: Bool { !turning.isEmpty }

  /// Lets engines process their events. New events that result are processed in the next turn.
  func turn() {
    if turning.isEmpty { return }
    let engines = turning
    turning = []
    for engine in engines { engine.turn() }
  }

  /// Lets engines send everything that was queued in this turn.
  func settle() {
    while !settling.isEmpty {
      let engines = settling
      settling = []
      for engine in engines { engine.settle() }
    }
  }

  func tearDown() {
    turning = []
    settling = []
  }
}
