// SPDX-License-Identifier: Apache-2.0

import Lastro

/// An attempt with its hedges, as a pure state machine.
///
/// ```
/// the delay is over ─▶ the next try, where it can be paid for
/// a try ends: acceptable, or fatal ─▶ that is the answer; the others are cancelled
///             unacceptable ─▶ the next try at once │ others still run: wait │ none: the first failure
///             asked for patience ─▶ as unacceptable, and there are no more tries
/// a hedge is refused ─▶ no more tries │ others still run: wait │ none: the first failure
/// ```
struct HedgePlan: Sendable, Hashable {
  enum Step: Sendable, Hashable {
    /// Wait for a try to end, or for the delay.
    case wait
    /// Send a try and restart the delay.
    case send(Int)
    /// The result of this try is that of the attempt; the tries that are still running are cancelled.
    case answer(Int, cancelling: [Int])
  }

  let additional: Int
  private(set) var sent = 1
  private(set) var running: Set<Int> = [0]
  private(set) var firstFailure: Int?
  private(set) var isOver = false
  private var mayHedge = true

  /// Creates a plan whose first try, number 0, has been sent.
  init(additional: Int) { self.additional = additional }

  /// Whether a further try may follow when the delay passes.
  var awaitsDelay: Bool { !isOver && mayHedge && sent <= additional }

  /// - Parameter pay: charges the budget for a hedge; returns false if too little is left.
  mutating func delayPassed(pay: () -> Bool) -> Step {
    guard awaitsDelay else { return .wait }
    return next(pay) ?? .wait
  }

  mutating func ended(_ number: Int, _ verdict: HedgeVerdict, asksForPatience: Bool, pay: () -> Bool) -> Step {
    guard !isOver, running.remove(number) != nil else { return .wait }
    if asksForPatience { mayHedge = false }
    guard verdict == .unacceptable else { return chooseTry(number) }
    if firstFailure == nil { firstFailure = number }
    if awaitsDelay, let step = next(pay) { return step }
    return running.isEmpty ? chooseTry(firstFailure ?? number) : .wait
  }

  /// Records a hedge that ended without information about the server, for example because there was no room for it. The
  /// attempt continues as if the hedge had not been sent.
  mutating func refused(_ number: Int) -> Step {
    guard !isOver, running.remove(number) != nil else { return .wait }
    mayHedge = false
    return running.isEmpty ? chooseTry(firstFailure ?? number) : .wait
  }

  private mutating func next(_ pay: () -> Bool) -> Step? {
    guard pay() else {
      mayHedge = false
      return nil
    }
    defer { sent += 1 }
    running.insert(sent)
    return .send(sent)
  }

  private mutating func chooseTry(_ number: Int) -> Step {
    isOver = true
    defer { running = [] }
    return .answer(number, cancelling: running.sorted())
  }
}
