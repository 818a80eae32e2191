// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroSupport

/// Asks a retry policy how to react to a loss, and waits accordingly.
struct LossWait: Sendable {
  let retries: HTTPRetryPolicy
  let timeSource: TimeSource
  /// The total delay of the waits since the last progress.
  private(set) var delay: Retry.Delay = .zero

  /// - Parameters:
  ///   - fruitless: the number of consecutive losses before this one that brought no progress.
  ///   - cancelled: the error to throw if the task is cancelled.
  /// - Throws: the failure if the policy permits no further retry.
  mutating func wait<APIError>(
    after failure: HTTPFetchError<APIError>, fruitless: Int, response: ResourceResponse?,
    cancelled: HTTPFetchError<APIError>
  ) async throws(HTTPFetchError<APIError>) {
    if fruitless == 0 { delay = .zero }
    let erased = failure.erased
    let state = Retry.State(errors: Array(repeating: erased, count: fruitless), totalDelay: delay)
    switch retries.shouldRetry(with: erased, state: state, metadata: (nil, nil, response)) {
    case .none, .noRetry: throw failure
    case .retry: break
    case .retryAfter(let wanted):
      guard wanted > .zero else { return }
      let pause = wanted.countable
      delay += pause
      do { try await timeSource.sleep(pause) } catch { throw cancelled }
    }
  }
}
