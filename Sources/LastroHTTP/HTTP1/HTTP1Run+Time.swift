// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroWire

/// Limits in time, and what is known of the exchange.
extension HTTP1Run {
  func facts() -> TransferFacts {
    var facts = receiver.facts(connection.facts(isReused: isReused), from: startedAt, firstByteAt: firstByteAt)
    facts.httpVersion = version
    facts.bytesSent = sentBytes
    return facts
  }

  // MARK: Time

  /// When it has to be looked at again.
  var due: Duration? {
    guard outcome == nil else { return nil }
    let idle = waitsForUs ? nil : job.request.idleTimeout.map { lastActivity + $0 }
    return [job.expiresAt, timerAt, patienceEndsAt, idle].compactMap(\.self).min()
  }

  /// Whether nothing moves because of our own side: a slow reader, or a slow source while no answer has come.
  private var waitsForUs: Bool { receiver.isPaused || (sendingPaused && receiver.response == nil) }

  func noteTimer() {
    let running = machine.timer
    guard running != timer else { return }
    timer = running
    timerAt = running.map { now + $0.duration(within: job.request.deadline) }
  }

  func check(_ now: Duration) {
    guard outcome == nil else { return }
    if let timerAt, now >= timerAt, job.expiresAt.map({ now < $0 }) ?? true { return fireTimer() }
    if let patienceEndsAt, now >= patienceEndsAt {
      receiver.cutLate()
      return settle()
    }
    guard let due, now >= due else { return }
    let isIdle = job.expiresAt.map { now < $0 } ?? true
    let place: TransferPlace =
      isDelivered ? .sourceOpen : receiver.response != nil ? .body : job.wasSent ? .response : .unsent
    conclude(.late(isIdle: isIdle, place, of: job.request))
  }

  private func fireTimer() {
    if timer == .grace, machine.reading == .complete, machine.writing == .body {
      // A piece may be under way, or the source has none: the request's own limits hold.
      timerAt = now + HTTP1Exchange.Timer.grace.duration(within: job.request.deadline)
      return
    }
    let isDrain = timer == .drain
    timer = nil
    timerAt = nil
    do throws(HTTP1Failure) {
      try machine.timerFired()
      if isDrain { return conclude(.cancelled(requestSent: true)) }
      if machine.writing == .body, outgoing.isEmpty, !isWriting { pump() }
      settle()
    } catch {
      fail(error)
    }
  }
}
