// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroTesting
import Testing

@testable import LastroEveryday

@Suite("Waits after losses", .timeLimit(.minutes(15)))
struct LossWaitTests {
  /// Returns whether a wait followed each loss, given the numbers of losses without progress before it.
  private static func waits(_ policy: HTTPRetryPolicy, _ fruitless: [Int]) async -> [Bool] {
    var losses = LossWait(retries: policy, timeSource: ManualClock(autoAdvance: true).timeSource)
    let lost = HTTPFetchError<Never>(
      .transport(TransportError(stage: .response, code: .connectionLost, message: "lost")))
    var waits: [Bool] = []
    for count in fruitless {
      do throws(HTTPFetchError<Never>) {
        try await losses.wait(after: lost, fruitless: count, response: nil, cancelled: lost)
        waits.append(true)
      } catch {
        waits.append(false)
      }
    }
    return waits
  }

  @Test(
    "A limit on the sum of delays counts from the last progress, and only positive delays",
    arguments: [
      (2.0, Retry.Backoff.Truncation.maxDelay(.seconds(3)), [true, true, false, true, true, false]),
      (2, .budget(.seconds(5)), [true, true, false, true, true, false]),
      (-2, .maxDelay(.seconds(3)), [true, true, true, true, true, true]),
      (2, .maxRetries(1), [true, false, false, true, false, false]),
    ])
  func limits(seconds: Double, truncation: Retry.Backoff.Truncation, expected: [Bool]) async {
    let policy = HTTPRetryPolicy.backoff(.constant(delay: Retry.seconds(seconds), until: truncation))
    #expect(await Self.waits(policy, [0, 1, 2, 0, 1, 2]) == expected)
  }

  @Test("Negative delays do not make room for others")
  func negative() async {
    let policy = HTTPRetryPolicy.custom { _, state, _ in
      guard state.totalDelay < .seconds(3) else { return .noRetry(.delay(.seconds(3))) }
      return .retryAfter(state.retryCount == 1 ? .seconds(-9) : .seconds(3))
    }
    #expect(await Self.waits(policy, [0, 1]) == [true, false])
    #expect(await Self.waits(policy, [1, 2, 3]) == [true, true, false])
  }

  @Test("A delay that no clock can represent does not trap")
  func endless() async {
    let longest = Duration(secondsComponent: .max, attosecondsComponent: 0)
    let policy = HTTPRetryPolicy.backoff(.constant(delay: longest, until: .maxRetries(9)))
    #expect(await Self.waits(policy, Array(0..<9)) == Array(repeating: true, count: 9))
  }
}
