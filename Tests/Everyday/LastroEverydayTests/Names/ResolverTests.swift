// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroSupport
import LastroTesting
import TestSupport
import Testing

@testable import LastroEveryday

/// A resolver whose look-ups end when the test answers them.
private final class Slow: NameResolver {
  typealias Answer = Result<ResolvedName, TransportError>

  /// The numbers of look-ups that began, of those cancelled, and of names reported as unreachable.
  let counts = Watched((asked: 0, cancelled: 0, unreachable: 0))
  private let pending = Lock([OneAnswer<Answer>]())

  func resolve(_ name: HostName, port: Int) async throws(TransportError) -> ResolvedName {
    let answer = OneAnswer<Answer>()
    pending.withLock { $0.append(answer) }
    counts.change { $0.asked += 1 }
    return try await withTaskCancellationHandler {
      await answer.value()
    } onCancel: {
      if answer.offer(.failure(.cancelled())) { counts.change { $0.cancelled += 1 } }
    }.get()
  }

  func answer(_ answer: Answer) {
    for one in pending.withLock({ pending in
      defer { pending = [] }
      return pending
    }) { one.give(answer) }
  }

  func connectionFailed(to name: HostName, port: Int) { counts.change { $0.unreachable += 1 } }
}

@Suite("Resolvers", .timeLimit(.minutes(15)))
struct ResolverTests {
  private static let down = TransportError(stage: .resolve, code: .hostNotFound, message: "down")
  private let name: HostName
  private let found: ResolvedName

  init() throws {
    name = try HostName("far.test")
    found = try ResolvedName(addresses: ["10.0.0.1", "[2001:DB8::1]"], timeToLive: .seconds(10))
  }

  @Test("Addresses have one form, and invalid ones are refused")
  func addresses() throws {
    #expect(found.addresses == ["10.0.0.1", "2001:db8::1"])
    for text in ["far.test", "", "10.0.0.1:80", "fe80::1%eth0", "10.0.0"] {
      #expect(throws: TransportError.self, "\(text)") { try ResolvedName(addresses: [text]) }
    }
  }

  @Test("Concurrent callers share a lookup, and later ones its answer until it expires")
  func sharing() async throws {
    let clock = ManualClock(), slow = Slow()
    let resolver = CachingResolver(over: slow, time: clock.timeSource)
    let answers = try await withThrowingTaskGroup(of: ResolvedName.self) { group in
      for _ in 0..<100 { group.addTask { try await resolver.resolve(name, port: 1) } }
      #expect(await slow.counts.wait { $0.asked == 1 })
      slow.answer(.success(found))
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(answers == Array(repeating: found, count: 100))
    clock.advance(by: .milliseconds(8_999))
    #expect(try await resolver.resolve(name, port: 2) == found)
    #expect(slow.counts.read { $0 }.asked == 1 && resolver.keptNames == 1)
    clock.advance(by: .milliseconds(1_001))
    async let again = resolver.resolve(name, port: 1)
    #expect(await slow.counts.wait { $0.asked == 2 })
    slow.answer(.failure(Self.down))
    // The answer is stale, because the look-up failed.
    #expect(try await again == found)
  }

  @Test("A caller in the last tenth of the lifetime is answered at once and starts a refresh for later ones")
  func refreshing() async throws {
    let clock = ManualClock(), slow = Slow()
    let resolver = CachingResolver(over: slow, time: clock.timeSource)
    async let first = resolver.resolve(name, port: 1)
    #expect(await slow.counts.wait { $0.asked == 1 })
    slow.answer(.success(found))
    _ = try await first
    clock.advance(by: .seconds(9))
    for _ in 0..<10 { #expect(try await resolver.resolve(name, port: 1) == found) }
    #expect(await slow.counts.wait { $0.asked == 2 })
    clock.advance(by: .seconds(1))
    // The answer has expired, so the look-up that is under way is waited for.
    let later = try ResolvedName(addresses: ["10.0.0.9"], timeToLive: .seconds(10))
    async let second = resolver.resolve(name, port: 1)
    slow.answer(.success(later))
    #expect(try await second == later)
    #expect(slow.counts.read { $0 }.asked == 2)
  }

  @Test("Addresses are returned as received, or shuffled within their families")
  func orders() async throws {
    let name = name
    let addresses = ["2001:db8::1", "2001:db8::2", "10.0.0.1", "10.0.0.2", "10.0.0.3"]
    func answers(shuffled: Bool) async throws -> [[String]] {
      let slow = Slow()
      let resolver = CachingResolver(
        over: slow, shufflesAddresses: shuffled, time: ManualClock().timeSource, random: .seeded(1))
      async let first = resolver.resolve(name, port: 1)
      #expect(await slow.counts.wait { $0.asked == 1 })
      slow.answer(.success(try ResolvedName(addresses: addresses)))
      var answers = [try await first.addresses]
      for _ in 0..<5 { answers.append(try await resolver.resolve(name, port: 1).addresses) }
      return answers
    }
    #expect(try await answers(shuffled: false) == Array(repeating: addresses, count: 6))
    let shuffled = try await answers(shuffled: true)
    for answer in shuffled {
      #expect(Set(answer.prefix(2)) == Set(addresses.prefix(2)))
      #expect(Set(answer) == Set(addresses) && answer.count == 5)
    }
    #expect(Set(shuffled).count > 2)
    #expect(try await answers(shuffled: true) == shuffled)
  }

  @Test("Shuffling yields all orders about equally often")
  func shuffling() throws {
    let given = try ResolvedName(addresses: ["10.0.0.1", "10.0.0.2", "10.0.0.3"], timeToLive: .seconds(7))
    let random = RandomSource.seeded(17)
    var counts: [ResolvedName: Int] = [:]
    for _ in 0..<6_000 { counts[given.shuffled(by: random), default: 0] += 1 }
    #expect(counts.count == 6 && counts.values.allSatisfy { (850...1_150).contains($0) })
    #expect(counts.keys.allSatisfy { $0.timeToLive == .seconds(7) })
    let one = try ResolvedName(addresses: ["10.0.0.1"]), none = try ResolvedName(addresses: [])
    #expect(one.shuffled(by: random) == one && none.shuffled(by: random) == none)
  }

  @Test("A flushed name, or one that could not be reached, is looked up again")
  func flushing() async throws {
    let slow = Slow()
    let resolver = CachingResolver(over: slow, time: ManualClock().timeSource)
    let flushes: [() -> Void] = [
      { resolver.flush(name) }, { resolver.flush() }, { resolver.connectionFailed(to: name, port: 1) }, {},
    ]
    for (index, flush) in flushes.enumerated() {
      async let answer = resolver.resolve(name, port: 1)
      #expect(await slow.counts.wait { $0.asked == index + 1 })
      slow.answer(.success(found))
      #expect(try await answer == found)
      flush()
    }
    #expect(try await resolver.resolve(name, port: 1) == found)
    #expect(slow.counts.read { $0 }.unreachable == 1)
  }

  @Test("A failure is reported to all and cached for a second")
  func failing() async throws {
    let clock = ManualClock(), slow = Slow()
    let resolver = CachingResolver(over: slow, time: clock.timeSource)
    let first = Task { try await resolver.resolve(name, port: 1) }
    #expect(await slow.counts.wait { $0.asked == 1 })
    slow.answer(.failure(Self.down))
    await #expect(throws: TransportError.self) { try await first.value }
    await #expect(throws: TransportError.self) { try await resolver.resolve(name, port: 1) }
    #expect(slow.counts.read { $0 }.asked == 1)
    clock.advance(by: .seconds(1))
    async let second = resolver.resolve(name, port: 1)
    #expect(await slow.counts.wait { $0.asked == 2 })
    slow.answer(.success(found))
    #expect(try await second == found)
  }

  @Test("A cancelled caller stops waiting, and the lookup is cancelled with the last of them")
  func cancellation() async throws {
    let slow = Slow()
    let resolver = CachingResolver(over: slow)
    let tasks = (0..<3).map { _ in Task { try await resolver.resolve(name, port: 1) } }
    #expect(await slow.counts.wait { $0.asked == 1 })
    tasks[0].cancel()
    await #expect(throws: TransportError.self) { try await tasks[0].value }
    slow.answer(.success(found))
    #expect(try await tasks[1].value == found)
    #expect(try await tasks[2].value == found)

    resolver.flush()
    let alone = Task { try await resolver.resolve(name, port: 1) }
    #expect(await slow.counts.wait { $0.asked == 2 })
    alone.cancel()
    await #expect(throws: TransportError.self) { try await alone.value }
    #expect(await slow.counts.wait { $0.cancelled == 1 })
    // The next call starts a new look-up.
    async let next = resolver.resolve(name, port: 1)
    #expect(await slow.counts.wait { $0.asked == 3 })
    slow.answer(.success(found))
    #expect(try await next == found)
  }

  @Test("The system resolver knows this machine, and that some names never exist")
  func system() async throws {
    let resolver = SystemResolver()
    let own = try await resolver.resolve(try HostName("localhost"), port: 80)
    #expect(own.addresses.contains { $0 == "127.0.0.1" || $0 == "::1" }, "\(own)")
    #expect(own.timeToLive == nil)
    #expect(try await CachingResolver().resolve(try HostName("localhost"), port: 80) == own)
    let task = Task { try await resolver.resolve(try HostName("localhost"), port: 80) }
    task.cancel()
    _ = await task.result
  }

  @Test("Options are equal if their resolver is the same")
  func options() throws {
    let slow = Slow()
    var options = ConnectionOptions()
    #expect(options.resolver == nil)
    options.resolver = slow
    #expect(options.resolver as? Slow === slow)
    #expect(options != ConnectionOptions())
    var others = ConnectionOptions()
    others.resolver = slow
    #expect(options == others && options.hashValue == others.hashValue)
    others.resolver = Slow()
    #expect(options != others)
    others.resolver = SystemResolver()
    let copy = others
    #expect(others == copy)
    others.resolver = SystemResolver()
    #expect(others != copy)
    others.resolver = nil
    #expect(others == ConnectionOptions())
  }
}
