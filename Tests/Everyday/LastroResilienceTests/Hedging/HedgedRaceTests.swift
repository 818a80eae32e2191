// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import LastroSupport
import LastroTesting
import Testing

@testable import Lastro
@testable import LastroResilience

/// Tests of every order of ends, compared with the outcome that the rules demand.
@Suite("Hedged race", .timeLimit(.minutes(15)))
struct HedgedRaceTests {
  /// The end of a try, and the milliseconds until then.
  private struct Try: Hashable {
    var end: TimedTransport.End
    var after: Int
  }

  private enum Stop: Hashable {
    case none
    case cancel(Int)
    case deadline(Int, isTotal: Bool)
  }

  private struct Scene: Hashable {
    var first: Try
    var hedge: Try
    var stop: Stop
    var hasBudget: Bool
  }

  /// The outcome of a race.
  private struct Course: Hashable {
    var answer: String
    var starts: [Int]
    var end: Int
  }

  private static let delay = 100
  private static let never = 1_000_000

  private static func scenes() -> [Scene] {
    let ends: [TimedTransport.End] = [
      .status(200), .status(404), .status(503), .status(503, retryAfter: true), .fails(.response, .connectionLost),
      .fails(.trust, .untrustedCertificate),
    ]
    func tries(_ lengths: [Int]) -> [Try] {
      ends.flatMap { end in lengths.map { Try(end: end, after: $0) } } + [Try(end: .hangs, after: never)]
    }
    let stops: [Stop] =
      [.none] + [0, 10, 40, 110, 140, 160, 240].map { .cancel($0) }
      + [200, 2_000].flatMap { [.deadline($0, isTotal: true), .deadline($0, isTotal: false)] }
    var scenes: [Scene] = []
    for first in tries([30, 155, 270]) {
      for hedge in tries([25, 120, 400]) {
        for stop in stops {
          scenes.append(Scene(first: first, hedge: hedge, stop: stop, hasBudget: true))
        }
      }
      scenes.append(Scene(first: first, hedge: Try(end: .status(200), after: 25), stop: .none, hasBudget: false))
    }
    return scenes
  }

  // MARK: - The rules, read by eye

  private enum Kind { case good, bad, over }

  private static func expected(_ scene: Scene) -> Course {
    var deadline = never * 10
    if case .deadline(let limit, _) = scene.stop { deadline = limit }
    func end(_ start: Int, _ attempt: Try, _ number: Int) -> (time: Int, word: String, kind: Kind) {
      let time = start + attempt.after
      if case .deadline(_, let isTotal) = scene.stop, time > deadline {
        return (deadline, isTotal ? "timeout/total_timeout" : "timeout/attempt_timeout", isTotal ? .over : .bad)
      }
      return switch attempt.end {
      case .status(let code, _): (time, "\(code) try \(number)", code == 503 ? .bad : .good)
      case .fails(.trust, _): (time, "trust/untrusted_certificate", .over)
      case .fails, .hangs: (time, "response/connection_lost", .bad)
      }
    }
    func cut(_ course: Course) -> Course {
      guard case .cancel(let moment) = scene.stop, moment < course.end else { return course }
      return Course(answer: "cancelled/cancelled", starts: course.starts.filter { $0 == 0 || $0 < moment }, end: moment)
    }
    let first = end(0, scene.first, 0)
    let delay = min(Self.delay, deadline / 4)
    var start: Int? = first.time > delay ? delay : nil
    if first.time < delay, first.kind == .bad, scene.first.end != .status(503, retryAfter: true) { start = first.time }
    guard scene.hasBudget, let start else { return cut(Course(answer: first.word, starts: [0], end: first.time)) }
    let hedge = end(start, scene.hedge, 1)
    let winner: (time: Int, word: String)
    if first.kind != .bad, hedge.kind != .good || first.time < hedge.time {
      winner = (first.time, first.word)
    } else if hedge.kind == .good {
      winner = (hedge.time, hedge.word)
    } else {
      let isHedge = hedge.kind == .bad && hedge.time < first.time
      winner = (max(first.time, hedge.time), isHedge ? hedge.word : first.word)
    }
    return cut(Course(answer: winner.word, starts: [0, start], end: winner.time))
  }

  // MARK: - What happens

  private struct Parts {
    var breaker: CircuitBreaker
    var limiter: ConcurrencyLimiter
    var hedger: Hedger
  }

  private static func milliseconds(_ time: Duration) -> Int { Int((time / .milliseconds(1)).rounded()) }

  private static func course(_ scene: Scene) throws -> (course: Course, leaks: [String]) {
    let tasks = SimulatedTasks()
    let time = tasks.clock.timeSource
    let scripted = TimedTransport(time) { number in
      let attempt = number == 0 ? scene.first : scene.hedge
      return (attempt.end, .milliseconds(attempt.after))
    }
    let limiter = try ConcurrencyLimiter(.fixed(2), time: time)
    let breaker = try CircuitBreaker(time: time, random: .seeded(1))
    let hedger = Hedger(
      HedgingPolicy(delay: .fixed(.milliseconds(delay)), budgetRatio: 0.01, budgetBurst: 1), time: time)
    var request = hedgeable()
    let key = try #require(ResilienceKeyRule.origin.key(of: request))
    if !scene.hasBudget { _ = hedger.pay(hedger.recordFirstTry(key, left: nil).place, key.origin) }
    if case .deadline(let limit, let isTotal) = scene.stop {
      request.deadline = .milliseconds(limit)
      request.deadlineCode = isTotal ? .totalTimeout : .attemptTimeout
    }
    let transport = ResilientTransport(
      over: scripted, Resilience(limiter: limiter, breaker: breaker, hedger: hedger), time: time)
    let sent = request
    let made = tasks.run {
      let call = Task(executorPreference: tasks) {
        let word: String
        do throws(TransportError) {
          word = TimedTransport.word(.success(try await transport.execute(sent)))
        } catch {
          word = TimedTransport.word(.failure(error))
        }
        return (word, tasks.clock.now, scripted.records)
      }
      if case .cancel(let moment) = scene.stop {
        if moment > 0 { try? await time.limit(.milliseconds(moment)) }
        call.cancel()
      }
      return await call.value
    }
    let (answer, end, records) = try #require(made)
    var leaks: [String] = []
    if records.contains(where: { $0.end == nil }) { leaks.append("a try runs on") }
    if limiter.snapshot(of: key).inUse != 0 { leaks.append("a permit is out") }
    return (
      Course(
        answer: answer, starts: records.map { milliseconds($0.start) }, end: milliseconds(end)),
      leaks
    )
  }

  @Test("Any order of ends, cancellations and timeouts follows the rules and leaves nothing behind")
  func orders() throws {
    let scenes = Self.scenes()
    var seen: [String: Int] = [:]
    for scene in scenes {
      let expected = Self.expected(scene)
      let (course, leaks) = try Self.course(scene)
      if course != expected || !leaks.isEmpty { Issue.record("\(scene): \(course), expected \(expected), \(leaks)") }
      seen["\(course.answer), \(course.starts.count) sent", default: 0] += 1
    }
    #expect(scenes.count > 4_000)
    // Each of these outcomes must occur, or the comparison would prove nothing.
    for course in [
      "200 try 0, 1 sent", "200 try 0, 2 sent", "200 try 1, 2 sent", "404 try 1, 2 sent", "503 try 0, 2 sent",
      "503 try 1, 2 sent", "cancelled/cancelled, 1 sent", "cancelled/cancelled, 2 sent",
      "timeout/total_timeout, 2 sent",
      "timeout/attempt_timeout, 2 sent", "response/connection_lost, 2 sent", "trust/untrusted_certificate, 2 sent",
    ] {
      #expect(seen[course, default: 0] > 0, "\(course)")
    }
  }

  // MARK: - One by one

  private static func hedgeable(_ method: HTTPRequest.Method = .get) -> TransferRequest {
    TransferRequest(
      head: HTTPRequest(method: method, scheme: "https", authority: "api.example.org", path: "/"), allowsResend: true)
  }

  /// Sends requests one after another, and returns their answers and the notes about hedges.
  private static func run(
    _ requests: [TransferRequest], _ hedging: HedgingPolicy,
    parts: (inout Resilience, TimeSource) throws -> Void = { _, _ in },
    _ script: @escaping @Sendable (_ number: Int) -> (end: TimedTransport.End, after: Int)
  ) throws -> (answers: [String], records: [TimedTransport.Record], hedges: [String], all: Resilience) {
    let tasks = SimulatedTasks()
    let time = tasks.clock.timeSource
    let scripted = TimedTransport(time) { number in
      let (end, after) = script(number)
      return (end, .milliseconds(after))
    }
    let hedges = Lock<[String]>([])
    @Sendable func note(_ facts: TransferFacts?) {
      let notes = facts?.notes.filter { $0.name.hasSuffix("hedged") } ?? []
      hedges.withLock { $0 += notes.map(\.text) }
    }
    var resilience = Resilience(hedger: Hedger(hedging, time: time))
    try parts(&resilience, time)
    let transport = ResilientTransport(over: scripted, resilience, time: time)
    let answers = tasks.run {
      var answers: [String] = []
      for request in requests {
        do throws(TransportError) {
          let answer = try await transport.execute(request)
          note(answer.facts)
          answers.append(TimedTransport.word(.success(answer)))
        } catch {
          note(error.facts)
          answers.append(TimedTransport.word(.failure(error)) + (error.requestSent ? "" : ", not sent"))
        }
      }
      return answers
    }
    return (try #require(answers), scripted.records, hedges.withLock { $0 }, resilience)
  }

  private static func fixed(additional: Int = 1, burst: Int = 10) throws -> HedgingPolicy {
    HedgingPolicy(
      additional: additional, delay: .fixed(.milliseconds(delay)), budgetRatio: 0.001, budgetBurst: burst)
  }

  @Test("Winning, losing and failing hedges are reported")
  func told() throws {
    let run = try Self.run(Array(repeating: Self.hedgeable(), count: 3), try Self.fixed()) { number in
      [
        (.hangs, 0), (.status(200), 20), (.status(200), 110), (.hangs, 0), (.status(200), 150), (.status(500), 10),
      ][number]
    }
    #expect(run.answers == ["200 try 1", "200 try 2", "200 try 4"])
    #expect(run.records.compactMap(\.end).filter { $0 == "cancelled/cancelled" }.count == 2)
    #expect(run.hedges == ["won", "lost", "useless"].map { "hedge 1 at 100 ms, \($0)" })
  }

  @Test("Each of four hedges has its own delay, and the last one's response cancels all others")
  func several() throws {
    let run = try Self.run([Self.hedgeable()], try Self.fixed(additional: 4)) { number in
      number == 4 ? (.status(200), 30) : (.hangs, 0)
    }
    #expect(run.answers == ["200 try 4"])
    #expect(run.records.map(\.start) == (0...4).map { .milliseconds(100 * $0) })
    #expect(run.records.count { $0.end == "cancelled/cancelled" } == 4)
  }

  @Test("A failed try is followed at once, and the delay restarts with it")
  func atOnce() throws {
    let run = try Self.run([Self.hedgeable()], try Self.fixed(additional: 2)) { number in
      [(.status(500), 60), (.hangs, 0), (.status(200), 5)][number]
    }
    #expect(run.answers == ["200 try 2"])
    #expect(run.records.map(\.start) == [.zero, .milliseconds(60), .milliseconds(160)])
  }

  @Test("A request that must not run twice is sent once")
  func once() throws {
    var streamed = Self.hedgeable()
    streamed.delivery = .streamed(maximumBytes: nil)
    var keyed = Self.hedgeable()
    keyed.head.headerFields[.idempotencyKey] = "\"1\""
    let requests = [Self.hedgeable(.post), Self.hedgeable(.delete), streamed, keyed]
    let run = try Self.run(requests, try Self.fixed()) { _ in (.status(200), 5_000) }
    #expect(run.records.count == requests.count)
    #expect(run.hedges.isEmpty)
    let chosen = try Self.run([Self.hedgeable()], try Self.fixed()) { resilience, time in
      resilience.hedger = Hedger(try Self.fixed(), time: time) { $0.path != "/" }
    } _: { _ in
      (.status(200), 5_000)
    }
    #expect(chosen.records.count == 1)
  }

  @Test(
    "There is no hedge without budget, at half the retry quota, with a circuit not closed, or after Retry-After")
  func withheld() async throws {
    let slow: @Sendable (Int) -> (end: TimedTransport.End, after: Int) = { _ in (.status(200), 5_000) }
    let poor = try Self.run(Array(repeating: Self.hedgeable(), count: 3), try Self.fixed(burst: 2), slow)
    #expect(poor.records.count == 5)
    #expect(poor.hedges.last == "no hedge: budget")
    let key = try #require(ResilienceKeyRule.origin.key(of: Self.hedgeable()))
    for (spent, expected) in [(50, 2), (51, 1)] {
      let quota = try RetryQuota(capacity: 100)
      _ = quota.pay(spent, for: key.origin)
      let run = try Self.run([Self.hedgeable()], try Self.fixed()) { resilience, time in
        resilience.hedger = Hedger(try Self.fixed(), retryQuota: quota, time: time)
      } _: {
        slow($0)
      }
      #expect(run.records.count == expected)
      if expected == 1 { #expect(run.hedges == ["no hedge: retry-quota"]) }
    }
    // While the first try is under way, other requests fail and open the circuit.
    let breaker = CircuitBreaker(
      policy: CircuitBreakerPolicy(minimumCalls: 2), time: ManualClock().timeSource, random: .seeded(1))
    let broken = try Self.run([Self.hedgeable()], try Self.fixed()) { resilience, _ in
      resilience.breaker = breaker
    } _: { number in
      for _ in 0..<2 { _ = try? breaker.permit(for: key).end(.failure) }
      return slow(number)
    }
    #expect(broken.answers == ["200 try 0"])
    #expect(broken.hedges == ["no hedge: circuit"])
    // While the first try is under way, the response to another request asks to send no more for a while.
    let pacer = try Pacer(key: { _ in "" }, time: ManualClock().timeSource)
    let slot = try await pacer.slot(for: key)
    let paced = try Self.run([Self.hedgeable()], try Self.fixed()) { resilience, _ in
      resilience.pacer = pacer
    } _: { number in
      pacer.learn(slot, from: HTTPResponse(status: .tooManyRequests, headerFields: [.retryAfter: "9"]))
      return slow(number)
    }
    #expect(paced.answers == ["200 try 0"])
    #expect(paced.hedges == ["no hedge: pace"])
  }

  @Test("A refused hedge neither ends the call nor is its result, and without room there is no hedge")
  func refused() throws {
    for (first, answer) in [(TimedTransport.End.status(200), "200 try 0"), (.status(500), "500 try 0")] {
      let run = try Self.run([Self.hedgeable()], try Self.fixed()) { resilience, time in
        let policy = PacingPolicy(pace: try .init(perSecond: 1), maximumWait: .zero)
        resilience.pacer = Pacer(policy, time: time, random: .seeded(1))
      } _: { _ in
        (first, 300)
      }
      #expect(run.answers == [answer])
      #expect(run.records.count == 1)
      #expect(run.hedges.last == "hedge 1 at 100 ms, useless")
      let full = try Self.run([Self.hedgeable()], try Self.fixed()) { resilience, time in
        resilience.limiter = try ConcurrencyLimiter(.fixed(1), time: time)
      } _: { _ in
        (first, 300)
      }
      #expect(full.answers == [answer])
      #expect(full.hedges.first == "no hedge: room")
    }
  }

  @Test("Cancelled tries are not failures: the circuit stays closed and the adaptive limit grows")
  func losers() throws {
    let run = try Self.run(Array(repeating: Self.hedgeable(), count: 40), try Self.fixed(burst: 100)) {
      resilience, time in
      let policy = CircuitBreakerPolicy(minimumCalls: 2, failureRatio: 0.01)
      resilience.breaker = CircuitBreaker(policy: policy, time: time, random: .seeded(1))
      resilience.limiter = try ConcurrencyLimiter(.aimd(initial: 2, range: 2...9), time: time)
    } _: { number in
      // The hedge and the first try win in turn.
      switch number % 4 {
      case 0, 3: (.hangs, 0)
      case 1: (.status(200), 10)
      default: (.status(200), 120)
      }
    }
    #expect(run.records.count == 80)
    #expect(run.answers.allSatisfy { $0.hasPrefix("200") })
    #expect(run.records.count { $0.end == "cancelled/cancelled" } == 40)
    let key = try #require(ResilienceKeyRule.origin.key(of: Self.hedgeable()))
    #expect(run.all.breaker?.state(of: key) == .closed)
    #expect(run.all.limiter?.snapshot(of: key).inUse == 0)
    #expect(run.all.limiter?.snapshot(of: key).limit ?? 0 > 2)
  }

  @Test("explain shows whether and when a request is hedged")
  func explained() throws {
    func words(_ request: TransferRequest, _ policy: HedgingPolicy) -> String? {
      let base = TimedTransport(.continuous) { _ in (.hangs, .zero) }
      let transport = ResilientTransport(over: base, Resilience(hedger: Hedger(policy)))
      return transport.explain(request).first { $0.name == "hedging" }?.value
    }
    #expect(words(Self.hedgeable(.post), try Self.fixed()) == "no: it must not be under way twice")
    #expect(words(Self.hedgeable(), .standard) == "not yet: too few answers are known")
    #expect(words(Self.hedgeable(), try Self.fixed()) == "after 100 ms, of 1 at most; 10 can be paid for")
  }

  @Test("A failure before sending is reported as sent if another try was")
  func sent() throws {
    let lost = TimedTransport.End.fails(.response, .connectionLost)
    let unreachable = TimedTransport.End.fails(.connect, .connectFailed)
    let run = try Self.run([Self.hedgeable()], try Self.fixed()) { $0 == 0 ? (lost, 300) : (unreachable, 20) }
    #expect(run.answers == ["connect/connect_failed"])
    let never = try Self.run([Self.hedgeable()], try Self.fixed()) { _ in (unreachable, 20) }
    #expect(never.answers == ["connect/connect_failed, not sent"])
  }

  @Test("A hedge has the attempt's remaining time")
  func deadline() throws {
    var request = Self.hedgeable()
    request.deadline = .milliseconds(1_000)
    let tasks = SimulatedTasks()
    let time = tasks.clock.timeSource
    let seen = Lock<[Duration?]>([])
    let base = DeadlineTransport(base: TimedTransport(time) { _ in (.hangs, .zero) }, seen: seen)
    let transport = ResilientTransport(over: base, Resilience(hedger: Hedger(try Self.fixed(), time: time)), time: time)
    let sent = request
    let word = tasks.run { () -> String in
      do throws(TransportError) {
        return TimedTransport.word(.success(try await transport.execute(sent)))
      } catch {
        return TimedTransport.word(.failure(error))
      }
    }
    #expect(word == "timeout/total_timeout")
    #expect(seen.withLock { $0 } == [.milliseconds(1_000), .milliseconds(900)])
    #expect(tasks.clock.now == .milliseconds(1_000))
  }

  private struct DeadlineTransport: Transport {
    let base: TimedTransport
    let seen: Lock<[Duration?]>

    func execute(_ request: TransferRequest) async throws(TransportError) -> TransferResponse {
      seen.withLock { $0.append(request.deadline) }
      return try await base.execute(request)
    }
  }

  @Test(
    "Latency is learned from first tries with a response or cancelled after the delay, not from hedges or quick failures"
  )
  func samples() throws {
    // After fifty answers of 40 ms, the hedge for a first try is delayed by about 40 ms.
    let policy = HedgingPolicy(budgetRatio: 1, budgetBurst: 1_000)
    let quick = try Self.run(Array(repeating: Self.hedgeable(), count: 52), policy) { number in
      switch number {
      case ..<50: (.status(200), 40)
      case 50: (.hangs, 0)
      default: (.status(200), 1)
      }
    }
    #expect(quick.records.count == 53)
    let key = try #require(ResilienceKeyRule.origin.key(of: Self.hedgeable()))
    let delay = try #require(quick.all.hedger?.status(of: key).delay)
    #expect((.milliseconds(40)...(.milliseconds(48))).contains(delay))
    // Failures of 1 ms do not count as samples.
    let failing = try Self.run(Array(repeating: Self.hedgeable(), count: 60), policy) { _ in (.status(500), 1) }
    #expect(failing.records.count == 60)
    #expect(failing.all.hedger?.status(of: key).delay == nil)
    // Tries that lose count with the time that they lasted. Without them, the delay would shrink.
    let losing = try Self.run(Array(repeating: Self.hedgeable(), count: 150), policy) { number in
      switch number < 50 ? 0 : (number - 50) % 11 {
      case 9: (.hangs, 0)
      case 10: (.status(200), 200)
      default: (.status(200), 40)
      }
    }
    #expect(losing.records.count == 160)
    let longer = try #require(losing.all.hedger?.status(of: key).delay)
    #expect(longer > .milliseconds(200))
  }
}
