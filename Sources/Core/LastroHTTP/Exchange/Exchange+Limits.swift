// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// The limits in time of an exchange.
extension Exchange {
  /// The longest time that is spent on the rest of a body for the sake of its connection.
  private static let drainTime = Duration.seconds(1)

  /// The time at which the loop must look at it again.
  var expiresAt: Int64 {
    guard let runner else { return min(job.expiresAt, connectExpiresAt, idleDialEndsAt) }
    let look = runner.nextLook
    switch rest {
    case .drained(let end): return min(end, look)
    case .awaited(let end): return min(job.expiresAt, end, look)
    case .part: break
    }
    let end = min(job.expiresAt, patienceEndsAt, look)
    guard let idle = job.request.idleTimeout, !waitsForUs else { return end }
    return min(end, deliveryWatch.nextLook(after: lastActivity, limit: idle.nanoseconds))
  }

  /// The time at which the dial that it waits for must have ended.
  var dialEndsAt: Int64 {
    guard let dialBeganAt, let limit = job.request.connectTimeout else { return .max }
    return dialBeganAt.adding(limit)
  }

  /// The end of the wait for a connection. The dial, which knows what it waited for, may end first.
  private var connectExpiresAt: Int64 { dialEndsAt.adding(.milliseconds(50)) }

  /// A handshake in which nothing moves is idle, too.
  private var idleDialEndsAt: Int64 {
    guard let dialBeganAt, let idle = job.request.idleTimeout else { return .max }
    return dialBeganAt.adding(idle)
  }

  /// Whether nothing moves because of our own side: a slow reader, or a slow source while no answer has come.
  private var waitsForUs: Bool { receiver.isPaused || (sendingPaused && receiver.response == nil) }

  /// Its time has come, of one kind or another.
  func expire(now: Int64) {
    if case .awaited = rest { return answerHead() }
    if let runner, runner.look(now: now) { return }
    if now >= patienceEndsAt, now < job.expiresAt { return cutLate() }
    if !isAlive(now: now) { timeOut(now: now) }
  }

  /// Whether only the time of a look has come, and not the end of a limit.
  private func isAlive(now: Int64) -> Bool {
    guard let runner, case .part = rest, !waitsForUs, now < job.expiresAt,
      let limit = job.request.idleTimeout?.nanoseconds
    else { return false }
    wasActive(at: runner.handedOutAt)
    let activity = deliveryWatch.look(
      at: runner.connection.peerDelivery(now: now), after: lastActivity, limit: limit, now: now,
      isAlone: runner.isAlone)
    wasActive(at: activity)
    return now < activity.adding(nanoseconds: limit)
  }

  private func timeOut(now: Int64) {
    runner?.limitPassed(now: now)
    host.conclude(self, timeOutError(now: now))
  }

  /// Returns the error of the limit that passed, and of the stage that was reached.
  private func timeOutError(now: Int64) -> TransportError {
    if now < job.expiresAt, !requestSent, now >= connectExpiresAt { return .connectTimedOut(job.request) }
    let isIdle = now < job.expiresAt
    let place: ExchangeStage =
      awaitsUpload
      ? .sourceOpen : receiver.response != nil ? .body : requestSent ? .response : .unsent
    return .late(isIdle: isIdle, place, of: job.request)
  }

  // MARK: Bodies of refusals and redirects

  /// Limits the time that is spent on the body of a refusal.
  func limitPatience() {
    guard receiver.isErrorAnswer, let limit = engine.settings.messages.errorBodyTime else { return }
    // Half of the rest, so that the status is reported before the deadline passes.
    let now = now
    let left = job.expiresAt == .max ? Int64.max : (job.expiresAt - now) / 2
    patienceEndsAt = now.adding(nanoseconds: min(limit.nanoseconds, left))
    engine.noteExpiry(of: self)
  }

  /// Cuts a refusal's body that takes too long: what matters is its status.
  private func cutLate() {
    patienceEndsAt = .max
    receiver.route.cutLate()
    finish()
  }

  /// Answers the job with the head alone, and reads the rest of the body behind the caller's back.
  func answerHead() {
    treatRest(as: .drained(until: lastActivity.adding(Self.drainTime)))
    receiver.answerHead(facts())
    runner?.answeredAtHead()
    engine.noteExpiry(of: self)
  }
}
