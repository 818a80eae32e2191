// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroSupport

/// Asks a retry policy how to react to a loss, and waits accordingly.
struct LossWait: Sendable {
  enum End {
    case waited
    /// The policy permits no further retry.
    case refused
    case cancelled
  }

  private let retries: HTTPRetryPolicy
  private let timeSource: TimeSource
  /// The total delay of the waits since the last progress.
  private var delay: Retry.Delay = .zero

  init(_ retries: HTTPRetryPolicy, _ timeSource: TimeSource) {
    self.retries = retries
    self.timeSource = timeSource
  }

  /// - Parameter fruitless: the number of consecutive losses before this one that brought no progress.
  mutating func wait(
    after failure: HTTPFetchError<any Error>, fruitless: Int, response: ResourceResponse?
  ) async -> End {
    if fruitless == 0 { delay = .zero }
    let state = Retry.State(errors: Array(repeating: failure, count: fruitless), totalDelay: delay)
    switch retries.shouldRetry(with: failure, state: state, metadata: HTTPRetryMetadata(response: response)) {
    case .none, .noRetry: return .refused
    case .retry: return .waited
    case .retryAfter(let wanted):
      guard wanted > .zero else { return .waited }
      let pause = wanted.countable
      delay += pause
      do {
        try await timeSource.sleep(pause)
        return .waited
      } catch {
        return .cancelled
      }
    }
  }
}
