// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// When an operation is asked for, and how often.
struct OperationPolling {
  private let options: OperationOptions
  private let start: Duration
  /// How long before that the operation was accepted.
  private let age: Duration
  /// Waits that grew so far.
  private var interval: Duration
  private var wait: Duration

  init(_ handle: OperationHandle, _ options: OperationOptions) {
    self.options = options
    start = options.timeSource.now()
    let date = options.timeSource.sinceEpoch()
    // A handle may come from elsewhere, and its date be anything.
    age = handle.acceptedAt.map { date - min(max($0, .zero), date) } ?? .zero
    interval = options.firstInterval
    wait = Self.cut(.seconds(handle.firstWait ?? 0) - age, options)
  }

  /// What is left for the next question; `nil` for no limit.
  var limit: SharedLimit? {
    options.total.map {
      SharedLimit(
        of: $0, since: start, options.timeSource, named: "OperationOptions.total",
        "while the server worked on the operation")
    }
  }

  private static func cut(_ wait: Duration, _ options: OperationOptions) -> Duration {
    min(max(wait, .zero), options.maximumAskedInterval)
  }

  /// Takes what was asked for by the caller, else by the server, else what grows.
  mutating func note(_ asked: Duration?, _ response: ResourceResponse) {
    let server = RetryAfter.wait(response.headerFields, sinceEpoch: options.timeSource.sinceEpoch)
    if let asked = asked ?? server { wait = Self.cut(asked, options) } else { grow() }
  }

  /// Whether a failure may mean that the operation is not visible yet.
  mutating func forgives(_ error: HTTPFetchError<any Error>) -> Bool {
    guard error.statusCode == .notFound, age + (options.timeSource.now() - start) < options.grace else { return false }
    grow()
    return true
  }

  private mutating func grow() {
    wait = interval * (0.9 + 0.2 * options.randomSource.unit())
    interval = min(interval * 1.5, options.maximumInterval)
  }

  /// Waits until it is time for the next question.
  ///
  /// - Throws: the cancelled error; stage `timeout` where it would be too late then.
  func pause() async throws(HTTPFetchError<any Error>) {
    if let limit, wait >= limit.left { throw HTTPFetchError(.transport(limit.passed(requestSent: true))) }
    do {
      if wait > .zero { try await options.timeSource.sleep(wait) }
      try Task.checkCancellation()
    } catch {
      throw HTTPFetchError(.cancelled)
    }
  }
}
