// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// The schedule of an operation's polls.
struct OperationPolling {
  private static let firstInterval = Duration.seconds(1)
  private static let maximumInterval = Duration.seconds(30)
  /// The maximum wait that the server or the caller's closure may ask for; a longer one is shortened to it.
  private static let maximumAskedInterval = Duration.seconds(300)
  /// The time after the acceptance during which a 404 means that the operation is not visible yet.
  private static let grace = Duration.seconds(2)

  private let total: Duration?
  private let time: TimeSource
  /// The source of the ±10 % jitter of waits that the server did not ask for.
  private let random: RandomSource
  private let start: Duration
  /// The time between the acceptance of the operation and `start`.
  private let age: Duration
  /// The base of the next wait if neither the caller nor the server asks for one. It grows with each such wait.
  private var interval: Duration
  private var wait: Duration

  init(_ handle: OperationHandle, total: Duration? = nil, _ configuration: StackConfiguration) {
    self.total = total
    time = configuration.timeSource
    random = configuration.randomSource
    start = time.now()
    let date = time.sinceEpoch()
    // A handle may come from elsewhere with an arbitrary date, so clamp it.
    age = handle.acceptedAt.map { date - min(max($0, .zero), date) } ?? .zero
    interval = Self.firstInterval
    wait = Self.cut(.seconds(handle.firstWait ?? 0) - age)
  }

  /// The rest of the total limit; `nil` for no limit.
  var limit: SharedLimit? {
    total.map {
      SharedLimit(
        of: $0, since: start, time, named: "the parameter total of wait", "while the server worked on the operation")
    }
  }

  private static func cut(_ wait: Duration) -> Duration { min(max(wait, .zero), maximumAskedInterval) }

  /// Determines the next wait: the caller's, or else the server's, or else a growing interval.
  mutating func note(_ asked: Duration?, _ response: ResourceResponse) {
    let server = RetryAfter.wait(response.headerFields, sinceEpoch: time.sinceEpoch)
    if let asked = asked ?? server { wait = Self.cut(asked) } else { grow() }
  }

  /// Whether a failure may mean that the operation is not visible yet.
  mutating func forgives(_ error: HTTPFetchError<any Error>) -> Bool {
    guard error.statusCode == .notFound, age + (time.now() - start) < Self.grace else { return false }
    grow()
    return true
  }

  private mutating func grow() {
    wait = interval * (0.9 + 0.2 * random.unit())
    interval = min(interval * 1.5, Self.maximumInterval)
  }

  /// Waits until the next poll is due.
  ///
  /// - Throws: the cancellation error; stage `timeout` if the total limit would pass during the wait.
  func pause() async throws(HTTPFetchError<any Error>) {
    if let limit, wait >= limit.left { throw HTTPFetchError(.transport(limit.passed(requestSent: true))) }
    do {
      if wait > .zero { try await time.sleep(wait) }
      try Task.checkCancellation()
    } catch {
      throw HTTPFetchError(.cancelled)
    }
  }
}
