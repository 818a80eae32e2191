// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import LastroTesting
import TestSupport
import Testing

@testable import Lastro

/// Random histories, compared step by step with the expected effects.
@Suite("Bearer authenticator: random histories", .ownThread, .timeLimit(.minutes(15)))
struct BearerModelTests {
  enum End: Equatable {
    case field(String)
    case action(String)
    case failed(String)
    case cancelled
  }

  /// A task that waits for the refresh.
  struct Waiter {
    var task: Task<End, Never>
    /// Whether the task waits in order to send a request; otherwise it waits because a request was refused.
    var isRequest: Bool
  }

  final class Run {
    let clock = ManualClock()
    let source = GatedSource()
    let bearer: BearerAuthenticator
    let random: RandomSource
    let ends = EventRecorder<Int>()
    var waiters: [Waiter] = []
    var started = 0
    /// The token that the authenticator is expected to have.
    var token: String?
    var expiry: Duration?
    var due: Duration?
    var failedAt: Duration?
    var failedWith = ""
    /// Whether the refresh in progress replaces a refused token.
    var isRefused = false
    /// The number of the source's call in progress.
    var refresh: Int?
    var refreshStart = Duration.zero
    var calls = 0
    var issued = 0
    var history: [String] = []

    init(seed: UInt64) throws {
      random = .seeded(seed)
      bearer = try .test(source, clock: clock, maximumRefreshes: nil)
    }

    func pick(_ count: Int) -> Int { Int(random.next() % UInt64(count)) }

    var isValid: Bool { token != nil && expiry.map { clock.now < $0 } ?? true }
    var isDue: Bool { token == nil || due.map { clock.now >= $0 } ?? false }
    var isPausing: Bool { failedAt.map { clock.now - $0 < .seconds(3) } ?? false }

    var isFailing: Bool { failedAt.map { clock.now - $0 < .seconds(1) } ?? false }

    func expect(_ isTrue: Bool, _ what: String) throws {
      guard isTrue else { throw TestFailure("\(what), after \(history.joined(separator: ", "))") }
    }

    func begin(_ isRequest: Bool, _ body: @escaping @Sendable () async -> End) -> Waiter {
      let number = started
      started += 1
      let ends = ends
      let task = Task {
        let end = await body()
        ends.record(number)
        return end
      }
      return Waiter(task: task, isRequest: isRequest)
    }

    /// Adds a waiter, and asserts that exactly one refresh is in progress for it.
    func join(_ waiter: Waiter) async throws {
      waiters.append(waiter)
      if !waiter.isRequest { isRefused = true }
      try await beginRefresh()
    }

    /// Expects a refresh, whether or not a task waits for it.
    func beginRefresh() async throws {
      if refresh == nil {
        calls += 1
        refresh = calls
        refreshStart = clock.now
      }
      try #require(await eventually { bearer.waiters == waiters.count })
      try await source.waitForCall(calls)
      try expect(source.asked.count == calls && source.running == 1, "one refresh must run")
    }

    /// Expects every waiter to end in a given way.
    func end(_ expected: (Waiter) -> End) async throws {
      for waiter in waiters {
        let end = await waiter.task.value
        try expect(end == expected(waiter), "ended \(end), not \(expected(waiter))")
      }
      waiters = []
    }
  }
}

extension BearerModelTests.Run {
  func request() async throws {
    let bearer = bearer
    let waiter = begin(true) {
      do {
        return .field(try await bearer.field() ?? "")
      } catch is CancellationError {
        return .cancelled
      } catch { return .failed("\(error)") }
    }
    if refresh != nil && isRefused || refresh != nil && !isValid { return try await join(waiter) }
    if refresh == nil, !isValid {
      guard isFailing else { return try await join(waiter) }
      let end = await waiter.task.value
      return try expect(end == .failed(failedWith), "a request after a failure ended \(end)")
    }
    let end = await waiter.task.value
    try expect(end == .field("Bearer \(token ?? "")"), "a request ended \(end)")
    if isDue, !isPausing, refresh == nil { isRefused = false }
    if isDue, !isPausing || refresh != nil { try await beginRefresh() }
  }

  func refusal() async throws {
    let carried = pick(3) == 0 || token == nil ? "older" : token ?? ""
    let bearer = bearer
    let waiter = begin(false) {
      do {
        return .action(try await bearer.action(refused: carried).word)
      } catch { return .failed("\(error)") }
    }
    guard carried == token else {
      let end = await waiter.task.value
      return try expect(end == .action("retry"), "an older token ended \(end)")
    }
    if refresh == nil, isFailing {
      let end = await waiter.task.value
      return try expect(end == .action(failedWith), "a refusal after a failure ended \(end)")
    }
    try await join(waiter)
  }

  func cancel() async throws {
    guard !waiters.isEmpty else { return }
    let waiter = waiters.remove(at: pick(waiters.count))
    waiter.task.cancel()
    let end = await waiter.task.value
    try expect(end == (waiter.isRequest ? .cancelled : .action("none")), "a cancelled request ended \(end)")
    try expect(source.running == 1 && bearer.isRefreshing, "a cancellation ended the refresh")
  }

  func succeed() async throws {
    guard refresh != nil else { return }
    issued += 1
    let life = [nil, 5, 50, 100][pick(4)]
    let value = "t\(issued)"
    source.answer(.success(try .test(value, expiresIn: life)))
    try #require(await eventually { !bearer.isRefreshing })
    adopt(value, life, since: refreshStart)
    try await end { $0.isRequest ? .field("Bearer \(value)") : .action("retry") }
  }

  func adopt(_ value: String?, _ life: Int?, since: Duration) {
    token = value
    expiry = life.map { since + .seconds($0) }
    due = life.map { since + .seconds($0) - min(.seconds(30), .seconds($0) / 2) }
    failedAt = nil
    refresh = nil
    isRefused = false
  }

  func fail() async throws {
    guard refresh != nil else { return }
    source.answer(.failure(TestError()))
    try #require(await eventually { !bearer.isRefreshing })
    try await failed(with: "\(TestError())")
  }

  func failed(with word: String) async throws {
    refresh = nil
    isRefused = false
    failedAt = clock.now
    failedWith = word
    let old = isValid ? token : nil
    try await end { waiter in
      if waiter.isRequest, let old { return .field("Bearer \(old)") }
      return waiter.isRequest ? .failed(word) : .action(word)
    }
  }

  func wait() async throws {
    let step = Duration.seconds(1 + pick(20))
    guard refresh != nil else { return clock.advance(by: step) }
    try await clock.waitForSleepers(count: 1)
    clock.advance(by: step)
    guard clock.now - refreshStart >= .seconds(30) else { return }
    try #require(await eventually { !bearer.isRefreshing && !bearer.isAsking })
    try await failed(with: "\(AccessTokenError.refreshTimedOut(.seconds(30)))")
  }

  func replace() async throws {
    issued += 1
    let value = "u\(issued)"
    bearer.replace(with: try .test(value, expiresIn: 60))
    adopt(value, 60, since: clock.now)
    try #require(await eventually { !bearer.isAsking })
    try await end { $0.isRequest ? .field("Bearer \(value)") : .action("retry") }
  }

  func step() async throws {
    switch pick(20) {
    case 0..<6: history.append("request"); try await request()
    case 6..<10: history.append("refusal"); try await refusal()
    case 10..<13: history.append("cancel"); try await cancel()
    case 13..<15: history.append("succeed"); try await succeed()
    case 15..<16: history.append("fail"); try await fail()
    case 16..<19: history.append("wait"); try await wait()
    default: history.append("replace"); try await replace()
    }
  }

  func expectOneEndEach() async throws {
    if refresh != nil { try await succeed() }
    try expect(ends.events.sorted() == Array(0..<started), "each call must end exactly once")
    try expect(source.mostRunning <= 1, "several refreshes at once")
    try #require(await eventually { clock.sleepers == 0 })
  }
}

extension BearerModelTests {
  // The histories run one after the other, because concurrent waiters would delay each other.
  @Test(
    "Requests, refusals, cancellations, responses, failures, timeouts and replacements keep the invariants in any order",
    arguments: 0..<4)
  func histories(part: UInt64) async throws {
    for seed in stride(from: 0, to: 250, by: SeedStride.value) {
      let run = try Run(seed: part << 32 | UInt64(seed))
      for _ in 0..<60 { try await run.step() }
      try await run.expectOneEndEach()
    }
  }
}
