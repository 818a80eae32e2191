// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroWire

/// The timers of the machine.
extension HTTP1Session {
  var isAlone: Bool { true }
  var handedOutAt: Int64 { .min }

  var nextLook: Int64 {
    if case .drained? = exchange?.rest { return .max }
    return timerAt
  }

  /// The machine's timer. Asked where there may be one alone: it would be copied to be asked.
  private var runningTimer: HTTP1Exchange.Timer? {
    switch machine.writing {
    case .head, .sent, .stopped: nil
    case .body: machine.reading == .complete ? .grace : nil
    case .awaitContinue, .broken, .flushing: machine.timer
    }
  }

  func noteTimer(of exchange: Exchange) {
    let running = runningTimer
    guard running != timer else { return }
    timer = running
    timerAt = running.map { exchange.now.adding($0.duration(within: exchange.job.request.deadline)) } ?? .max
    exchange.engine.noteExpiry(of: exchange)
  }

  func look(now: Int64) -> Bool {
    guard let exchange, let timer, now >= timerAt, now < exchange.job.expiresAt else { return false }
    if timer == .grace, machine.reading == .complete, let later = restGoesOn(exchange, now) {
      timerAt = later
      exchange.engine.noteExpiry(of: exchange)
      return true
    }
    self.timer = nil
    timerAt = .max
    do throws(HTTP1Failure) {
      try machine.timerFired()
    } catch {
      fail(exchange, error)
      return true
    }
    if timer == .drain || machine.connection != .inUse { exchange.finish() } else { pump(exchange) }
    return true
  }

  /// Returns when to look again at the rest of a request whose response is complete; `nil` once the server has taken
  /// nothing of it for a second. On a slow line the socket may take nothing for longer while the server does.
  private func restGoesOn(_ exchange: Exchange, _ now: Int64) -> Int64? {
    let grace = HTTP1Exchange.Timer.grace.duration(within: exchange.job.request.deadline)
    if exchange.sendingPaused, !hasOutgoing { return now.adding(grace) }
    let end = exchange.lastActivity.adding(grace)
    if end > now { return end }
    let unacknowledged = connection.unacknowledgedBytes
    if unacknowledged == restUnacknowledged { return nil }
    restUnacknowledged = unacknowledged
    return now.adding(grace)
  }

  func limitPassed(now: Int64) {}
}
