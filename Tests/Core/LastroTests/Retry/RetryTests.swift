// SPDX-License-Identifier: Apache-2.0

import LastroTesting
import TestSupport
import Testing

@testable import Lastro

@Suite("Retry")
struct RetryTests {
  typealias Policy = Retry.Policy<Int>

  static func state(_ count: Int, _ delay: Retry.Delay = .zero) -> Retry.State {
    Retry.State(errors: Array(repeating: TestError(), count: count), totalDelay: delay)
  }

  @Test("A state with transformed failures counts the same failures, also those that are not stored")
  func transformed() {
    var state = Self.state(2, .seconds(3))
    state.forgotten = 4
    let mapped = state.mapErrors { _ in TestFailure("transformed") }
    #expect(mapped.errors.count == 2 && mapped.errors.allSatisfy { $0 is TestFailure })
    #expect(mapped.retryCount == 6 && mapped.attemptCount == 7 && mapped.totalDelay == .seconds(3))
  }

  @Test("Texts of limits count in the singular, too")
  func texts() {
    for (limit, text) in [(0, "0 retries"), (1, "1 retry"), (2, "2 retries")] {
      #expect("\(Retry.Backoff.Truncation.maxRetries(limit))" == text)
      #expect("\(Retry.Error.retries(limit))" == "the limit of \(text) is reached")
    }
    for (limit, text) in [(1, "once"), (2, "2 times")] {
      #expect(HTTPRetryPolicy.maxRetries(limit).explanation.hasSuffix(", at most \(text)"))
    }
  }

  /// Returns an action as text, because actions hold errors and are not comparable.
  static func text(_ action: Retry.Action) -> String {
    switch action {
    case .none: "none"
    case .retry: "retry"
    case .retryAfter(let delay): "after \(delay.inSeconds)"
    case .noRetry(.retries(let count)): "no: retries \(count)"
    case .noRetry(.delay(let delay)): "no: delay \(delay.inSeconds)"
    case .noRetry(.custom(let error as TestError)): "no: \(error.name)"
    default: "other"
    }
  }

  @Test(
    "Policies decide by the state of the call",
    .parity("RT01", "RT02", "RT03", "RT04", "RT05", "RT07", "RT09", "RT10", "RT11", "RT12", "RT13"),
    arguments: [
      (Policy.maxRetries(3), 3, 0.0, "no: retries 3"),
      (.maxRetries(3), 2, 0, "retry"),
      (.maxRetries(0), 0, 0, "no: retries 0"),
      (.backoff(.constant(delay: .seconds(2), until: .maxRetries(3))), 3, 0, "no: retries 3"),
      (.backoff(.constant(delay: .seconds(2), until: .maxRetries(3))), 2, 99, "after 2.0"),
      (.backoff(.constant(delay: .seconds(2), until: .maxDelay(.seconds(5)))), 1, 5.1, "no: delay 5.0"),
      (.backoff(.constant(delay: .seconds(2), until: .maxDelay(.seconds(5)))), 1, 4.9, "after 2.0"),
      (.backoff(.constant(delay: .seconds(2), until: .maxDelay(.seconds(0)))), 0, 0, "no: delay 0.0"),
      (.backoff(.constant(delay: .seconds(2), until: .budget(.seconds(5)))), 1, 3, "after 2.0"),
      (.backoff(.constant(delay: .seconds(2), until: .budget(.seconds(5)))), 1, 3.1, "no: delay 5.0"),
      (
        .backoff(.exponential(baseDelay: .seconds(2), scale: { $0 * $1 }, until: .maxRetries(3))), 4, 0, "no: retries 3"
      ),
      (.backoff(.exponential(baseDelay: .seconds(2), scale: { $0 * $1 }, until: .maxRetries(3))), 2, 0, "after 6.0"),
      (
        .backoff(.exponential(baseDelay: .seconds(2), scale: { $0 * $1 }, until: .maxDelay(.seconds(5)))), 3, 5,
        "no: delay 5.0"
      ),
      (
        .backoff(.exponential(baseDelay: .seconds(2.5), scale: { $0 * $1 }, until: .maxDelay(.seconds(5)))), 1, 1,
        "after 5.0"
      ),
      (
        .backoff(.exponential(baseDelay: .seconds(3), scale: { $0 * $1 }, until: .maxDelay(.seconds(5)))), 1, 1,
        "after 5.0"
      ),
      (
        .backoff(
          .exponential(
            baseDelay: .seconds(3), scale: { _, _ in .seconds(1_000_000_000) }, until: .maxDelay(.seconds(5)))), 1, 1,
        "after 5.0"
      ),
      (
        .backoff(
          .exponential(
            baseDelay: .seconds(3), scale: { _, _ in .seconds(1_000_000_000) }, until: .budget(.seconds(5)))), 1, 1,
        "no: delay 5.0"
      ),
    ])
  func policies(policy: Policy, failures: Int, delay: Double, expected: String) {
    let action = policy.shouldRetry(with: TestError(), state: Self.state(failures, .seconds(delay)), metadata: 0)
    #expect(Self.text(action) == expected)
  }

  @Test("The scale of a policy is not asked once the retries are used up", .parity("RT03"))
  func scaleNotCalled() {
    let calls = EventRecorder<Int>()
    let policy = Policy.backoff(
      .exponential(
        baseDelay: .seconds(1),
        scale: { base, retry in
          calls.record(retry)
          return base
        }, until: .maxRetries(2)))
    _ = policy.shouldRetry(with: TestError(), state: Self.state(3), metadata: 0)
    #expect(calls.events.isEmpty)
    _ = policy.shouldRetry(with: TestError(), state: Self.state(1), metadata: 0)
    #expect(calls.events == [2])
  }

  @Test("A custom rule receives error, state and metadata, and its action is returned", .parity("RT06", "RT08", "RT14"))
  func customRule() {
    let answers: [Retry.Action] = [
      .noRetry(.custom(TestError(name: "stop"))), .retry, .retryAfter(.seconds(1.5)), .none,
    ]
    for (index, answer) in answers.enumerated() {
      let policy = Policy.custom { error, state, metadata in
        #expect(error as? TestError == TestError(name: "x"))
        #expect(state.retryCount == 2 && state.totalDelay == .seconds(7))
        #expect(metadata == index)
        return answer
      }
      let action = policy.shouldRetry(with: TestError(name: "x"), state: Self.state(2, .seconds(7)), metadata: index)
      #expect(Self.text(action) == Self.text(answer))
    }
  }

  @Test(
    "Delays follow the worked table until the policy stops",
    arguments: [
      (
        Policy.backoff(
          .exponential(baseDelay: .milliseconds(100), scale: { $0 * $1 }, until: .maxDelay(.milliseconds(400)))),
        [0.1, 0.2, 0.3], "no: delay 0.4"
      ),
      (
        .backoff(.exponential(baseDelay: .seconds(1), scale: Retry.Backoff.doubling, until: .maxDelay(.seconds(5)))),
        [1, 2, 4],
        "no: delay 5.0"
      ),
      (
        .backoff(.exponential(baseDelay: .seconds(1), scale: Retry.Backoff.doubling, until: .maxRetries(4))),
        [1, 2, 4, 8],
        "no: retries 4"
      ),
      (.backoff(.constant(delay: .seconds(3), until: .maxDelay(.seconds(5)))), [3, 3], "no: delay 5.0"),
      (.backoff(.constant(delay: .seconds(10), until: .maxDelay(.seconds(5)))), [10], "no: delay 5.0"),
      (.backoff(.constant(delay: .seconds(1), until: .maxDelay(.seconds(0)))), [], "no: delay 0.0"),
      (.backoff(.constant(delay: .seconds(1), until: .maxRetries(0))), [], "no: retries 0"),
      (.backoff(.constant(delay: .seconds(3), until: .budget(.seconds(5)))), [3], "no: delay 5.0"),
    ])
  func workedTable(policy: Policy, delays: [Double], end: String) {
    var state = Retry.State.empty
    var made: [Double] = []
    while made.count < 20 {
      guard case .retryAfter(let delay) = policy.shouldRetry(with: TestError(), state: state, metadata: 0) else {
        break
      }
      made.append((delay.inSeconds * 1000).rounded() / 1000)
      state.errors.append(TestError())
      state.totalDelay += delay
    }
    #expect(made == delays)
    #expect(Self.text(policy.shouldRetry(with: TestError(), state: state, metadata: 0)) == end)
  }

  @Test(
    "The action of highest priority wins for every pair of actions",
    .parity("RT15", "RT16", "RT17", "RT18", "RT19", "RT20", "OL06"))
  func matrix() {
    let left: [Retry.Action] = [.none, .noRetry(.retries(1)), .retry, .retryAfter(.seconds(2))]
    let right: [Retry.Action] = [.none, .noRetry(.retries(9)), .retry, .retryAfter(.seconds(3))]
    let expected = [
      ["none", "no: retries 9", "retry", "after 3.0"],
      ["no: retries 1", "no: retries 1", "no: retries 1", "no: retries 1"],
      ["retry", "no: retries 9", "retry", "after 3.0"],
      ["after 2.0", "no: retries 9", "after 2.0", "after 3.0"],
    ]
    for (row, lhs) in left.enumerated() {
      for (column, rhs) in right.enumerated() {
        #expect(Self.text(.mostPrioritary(lhs, rhs)) == expected[row][column])
      }
    }
    #expect(Self.text(.mostPrioritary(.retryAfter(.seconds(3)), .retryAfter(.seconds(2)))) == "after 3.0")
    #expect(Self.text(.mostPrioritary(.retryAfter(Retry.seconds(.nan)), .retryAfter(.seconds(2)))) == "after 2.0")
    #expect(Self.text(.mostPrioritary(.retryAfter(.seconds(2)), .retryAfter(Retry.seconds(.nan)))) == "after 2.0")
  }

  @Test("Folding actions from none returns the longest delay", .parity("OL03", "OL05"))
  func fold() {
    let fold = { (actions: [Retry.Action]) in Self.text(actions.reduce(.none, Retry.Action.mostPrioritary)) }
    #expect(fold([]) == "none")
    #expect(fold([.retry, .retryAfter(.seconds(4)), .retry]) == "after 4.0")
    #expect(fold([.retryAfter(.seconds(1)), .retryAfter(.seconds(5)), .retryAfter(.seconds(3))]) == "after 5.0")
  }

  @Test("The state counts attempts and retries", .parity("RT21", "RT22", "RT23", "OL02"))
  func stateCounts() {
    #expect(Retry.State.empty.errors.isEmpty && Retry.State.empty.totalDelay == .zero)
    #expect(Retry.State.empty.attemptCount == 1 && Retry.State.empty.retryCount == 0)
    #expect(Self.state(1).attemptCount == 2 && Self.state(1).retryCount == 1)
  }

  @Test("Doubling neither overflows nor starts below the base")
  func doubling() {
    #expect((0...4).map { Retry.Backoff.doubling(.seconds(1), $0) } == [1, 1, 2, 4, 8].map { .seconds($0) })
    #expect(Retry.Backoff.doubling(.seconds(Int64.max), .max) > .zero)
    #expect(Retry.Backoff.doubling(.seconds(Int64.min), .max) == .zero)
  }

  @Test(
    "Any number of seconds makes a delay",
    arguments: [
      (1.5, Duration.milliseconds(1500)), (-2, .seconds(-2)), (.nan, .zero), (.infinity, .seconds(1_000_000_000)),
      (-.infinity, .seconds(-1_000_000_000)), (1e300, .seconds(1_000_000_000)),
    ])
  func numbers(number: Double, delay: Retry.Delay) {
    #expect(Retry.seconds(number) == delay)
  }

  @Test("Full jitter stays below the cap and the doubled base, and a seed reproduces it")
  func jitter() {
    let scale = Retry.Backoff.fullJitter(cap: .seconds(5), random: .seeded(42))
    let delays = (1...50).map { scale(.seconds(1), $0) }
    for (index, delay) in delays.enumerated() {
      #expect(delay >= .zero && delay < min(.seconds(5), Retry.Backoff.doubling(.seconds(1), index + 1)))
    }
    let again = Retry.Backoff.fullJitter(cap: .seconds(5), random: .seeded(42))
    #expect((1...50).map { again(.seconds(1), $0) } == delays)
    let other = Retry.Backoff.fullJitter(cap: .seconds(5), random: .seeded(43))
    #expect((1...50).map { other(.seconds(1), $0) } != delays)
  }

  @Test("A constant source draws one fraction of every range, and the nearest one for a value outside")
  func constant() {
    for fraction in [0, 0.25, 0.5, 1 - 0x1p-53] {
      let source = RandomSource.constant(fraction)
      #expect(source.unit() == fraction && source.unit() == fraction)
      #expect(Retry.Backoff.fullJitter(cap: .seconds(5), random: source)(.seconds(1), 1) == .seconds(1) * fraction)
    }
    for fraction in [1, 2, Double.infinity] { #expect(RandomSource.constant(fraction).unit() == 1 - 0x1p-53) }
    for fraction in [-1, -Double.infinity, Double.nan] { #expect(RandomSource.constant(fraction).unit() == 0) }
  }

  @Test("The system's random numbers are not constant")
  func systemRandom() {
    #expect(Set((0..<8).map { _ in RandomSource.system.next() }).count == 8)
  }
}
