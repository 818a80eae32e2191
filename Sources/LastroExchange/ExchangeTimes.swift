// SPDX-License-Identifier: Apache-2.0

package import Lastro

/// How long one exchange may take.
package struct ExchangeTimes: Sendable {
  /// Of all of it.
  package var countdown: Countdown
  /// Of each wait for the stream. Default `nil`: no limit.
  package var idle: Duration?
  /// What the end of the countdown is called.
  package var code: FailureCode

  package init(_ countdown: Countdown, idle: Duration? = nil, code: FailureCode) {
    self.countdown = countdown
    self.idle = idle
    self.code = code
  }

  /// The limit of the next wait.
  ///
  /// - Throws: stage `timeout`, when nothing is left.
  func next(_ place: String) throws(TransportError) -> Duration? {
    guard let left = countdown.left else { return idle }
    guard left > .zero else { throw late(place) }
    return idle.map { min($0, left) } ?? left
  }

  /// A failure of a wait: the stream's own word for it, but where it was the countdown that ended.
  func failure(_ error: TransportError, _ place: String) -> TransportError {
    error.code == .idleTimeout && countdown.left == .zero ? late(place) : error
  }

  private func late(_ place: String) -> TransportError {
    code == .connectTimeout
      ? .dialTimedOut : TransportError(stage: .timeout, code: code, message: "the deadline passed while \(place)")
  }
}
