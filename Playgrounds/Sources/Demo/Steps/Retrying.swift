// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro

extension Step {
  static let retrying = Step(
    title: "A 503 that is retried",
    explanation: """
      A policy says when and how often; the interceptor around it knows which failures time may heal.
      Every attempt is kept, in the response and in errors: why it was made, after which wait, what became of it.
      """
  ) { stage in
    let policy = HTTPRetryPolicy.backoff(
      .exponential(baseDelay: .milliseconds(100), scale: Retry.Backoff.doubling, until: .maxRetries(3)))
    let before = stage.server.requests.count
    stage.asked("fetch(.flaky(\"a\", failures: 2)), waits of 0.1 s, 0.2 s, 0.4 s, three retries at most")
    let flaky = try await stage.stack.fetch(.flaky("a", failures: 2, retrying: policy))
    let attempts = flaky.response.ledger.attempts
    stage.show(attempts)
    stage.came("\(flaky.response.status) after \(flaky.value.attempts) attempts")
    try stage.check("two 503 and a 200", attempts.map(\.status?.code) == [503, 503, 200])
    try stage.check("the waits doubled", attempts.map(\.delay) == [.zero, .seconds(0.1), .seconds(0.2)])
    try stage.check("the server got three requests", stage.requests(since: before).count == 3)

    stage.asked("the same with ten failures and two retries")
    do throws(HTTPFetchError<ForgeError>) {
      _ = try await stage.stack.fetch(.flaky("b", failures: 10, retrying: .maxRetries(2)))
    } catch {
      stage.came("\(error)")
      guard case (.retries(let limit), let state)? = error.retryFailure else { throw error }
      try stage.check("the policy stopped after \(limit) retries", limit == 2 && state.errors.count == 3)
      try stage.check("the last answer is kept", error.statusCode == .serviceUnavailable)
      try stage.check("the server got three requests", stage.requests(since: before).count == 6)
      return
    }
    try stage.check("a server that stays down is an error", false)
  }
}

extension Stage {
  fileprivate func show(_ attempts: [Attempt]) {
    for (index, attempt) in attempts.enumerated() {
      let status = attempt.status.map { "\($0.code)" } ?? "no answer"
      let why = index == 0 ? "at once" : "after \(attempt.delay.readable), because of \(attempt.reason)"
      say("  attempt \(index + 1), \(why): \(status)")
    }
  }
}
