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
  /// The executor of reads and writes of our own streams.
  let executor: LoopExecutor
  private let scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: scratchBytes, alignment: 16)
  private let sendingSpace = UnsafeMutableRawBufferPointer.allocate(byteCount: scratchBytes, alignment: 16)
  /// Memory for a piece of a body on its way to an HTTP/2 connection, which sends out of the other.
  private lazy var bodySpace = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.scratchBytes, alignment: 16)
  private var hasBodySpace = false
  /// Whether the poller was asked, and all that it reported was processed, since the job was made that begins now: then
  /// no unread byte of an idle connection came before the job.
  var hasLooked = false
  /// The exchanges of all engines.
  var exchanges = 0
  /// The time at which an engine's limits are looked at next.
  var enginesDue = Int64.max
  /// Engines with events to process in the next ``HTTPEngine/turn()``.
  private var turning: [HTTPEngine] = []
  /// Engines with something to see to before the turn ends.
  private var settling: [HTTPEngine] = []

  init(inbox: LoopInbox, time: LoopTime, executor: LoopExecutor) {
    self.inbox = inbox
    self.executor = executor
    clock = LoopClock(time)
  }

  deinit {
    scratch.deallocate()
    sendingSpace.deallocate()
    if hasBodySpace { bodySpace.deallocate() }
  }

  /// Lends memory for incoming bytes. Not for two at once.
  package func withScratch<Result, Failure>(
    _ body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result { try body(scratch) }

  /// Lends memory for outgoing bytes: an answer that is read may ask for it.
  func withSendingSpace<Result, Failure>(
    _ body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result { try body(sendingSpace) }

  /// Lends memory for a piece of a body that is read while something is sent.
  func withBodySpace<Result, Failure>(
    _ body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    hasBodySpace = true
    return try body(bodySpace)
  }

  // MARK: Engines

  func noteDue(_ time: Int64) { enginesDue = min(enginesDue, time) }

  func mustTurn(_ engine: HTTPEngine) { turning.append(engine) }

  func mustSettle(_ engine: HTTPEngine) { settling.append(engine) }

  var isTurnWanted: Bool { !turning.isEmpty }

  /// Has engines process events; those that come of it are for the next turn.
  func turn() {
    if turning.isEmpty { return }
    let engines = turning
    turning = []
    for engine in engines { engine.turn() }
  }

  /// Has engines send what they have, all of a turn at once.
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
