// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// The time limits of an exchange.
extension Exchange {
  /// The maximum time for which the rest of a body is read so that its connection can be reused.
  private static let drainTime = Duration.seconds(1)

  /// The time at which the loop must look at the exchange again.
  var expiresAt: Int64 {
    guard let runner else { return min(job.expiresAt, connectExpiresAt, idleDialEndsAt) }
    let look = runner.nextLook
    switch rest {
    case .drained(let end): return min(end, look)
    case .awaited(let end): return min(job.expiresAt, end, look)
    case .open: return look
    case .part: break
    }
    let end = min(job.expiresAt, patienceEndsAt, look)
    guard let idle = job.request.idleTimeout, !waitsForUs else { return end }
    return min(end, deliveryWatch.nextLook(after: lastActivity, limit: idle.nanoseconds))
  }

  /// The time at which the connect timeout of the exchange passes; `.max` while no dial will serve it.
  var dialEndsAt: Int64 {
    guard let dialBeganAt, let limit = job.request.connectTimeout else { return .max }
    return dialBeganAt.adding(limit)
  }

  /// The end of the wait for a connection. It comes 50 ms after the end of the dial, so that the dial, which knows what
  /// it was waiting for, fails first.
  private var connectExpiresAt: Int64 { dialEndsAt.adding(.milliseconds(50)) }

  /// The time at which the idle timeout ends the wait for a dial: a handshake without progress is idle, too.
  private var idleDialEndsAt: Int64 {
    guard let dialBeganAt, let idle = job.request.idleTimeout else { return .max }
    return dialBeganAt.adding(idle)
  }

  /// Whether nothing moves because of our own side: the reader is slow, or the source of the upload is slow while no
  /// response has arrived. Before a tunnel is open, its source has nothing to give.
  private var waitsForUs: Bool {
    receiver.isPaused || (upload.isPaused && receiver.route.response == nil && !job.isTunnel)
  }

  /// Handles a limit or a scheduled look that is due.
  func expire(now: Int64) {
    if case .awaited = rest { return answerHead() }
    if let runner, runner.look(now: now) { return }
    if now >= patienceEndsAt, now < job.expiresAt { return cutLate() }
    if isAlive(now: now) { return }
    runner?.limitPassed(now: now)
    host.conclude(self, timeOutError(now: now))
  }

  /// Returns whether only a scheduled look is due, and no limit has passed.
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

  /// Returns the error for the limit that passed and the stage that the exchange had reached.
  private func timeOutError(now: Int64) -> TransportError {
    if now < job.expiresAt, !requestSent, now >= connectExpiresAt { return .connectTimedOut(job.request) }
    let isIdle = now < job.expiresAt
    let place: ExchangeStage =
      awaitsUpload
      ? .sourceOpen : receiver.route.response != nil ? .body : requestSent ? .response : .unsent
    return .late(isIdle: isIdle, place, of: job.request)
  }

  // MARK: Bodies of error responses and redirects

  /// Limits the time that is spent on the body of an error response.
  func limitPatience() {
    // A tunnel that is refused is refused over HTTP/1.1, too, where the same limit applies to the body.
    guard receiver.route.isErrorAnswer,
      let limit = engine.settings.errorBodyTime ?? (job.isTunnel ? Duration.seconds(2) : nil)
    else { return }
    // At most half of the remaining time is used, so that the status is reported before the deadline passes.
    let now = now
    let left = job.expiresAt == .max ? Int64.max : (job.expiresAt - now) / 2
    patienceEndsAt = now.adding(nanoseconds: min(limit.nanoseconds, left))
    engine.scheduleCheck(of: self)
  }

  /// Stops reading the body of an error response that takes too long, and finishes with its status.
  private func cutLate() {
    patienceEndsAt = .max
    receiver.route.wasCut = true
    receiver.route.cut = .late
    finish()
  }

  /// Answers the job with the head alone, and reads the rest of the body in the background, unless a request that waits
  /// needs the connection.
  func answerHead() {
    rest = .drained(until: lastActivity.adding(Self.drainTime))
    receiver.answerHead(facts())
    runner?.answeredAtHead()
    if isRunning { engine.scheduleCheck(of: self) }
  }
}
