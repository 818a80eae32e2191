// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroFleet
import LastroObservability
import LastroSupport
import LastroTesting
import Logging
import MetricsTestKit
import TestSupport
import Testing

/// A token endpoint that rotates refresh tokens, and counts how often each is spent.
private final class RotatingEndpoint: Sendable {
  private struct State {
    var count = 0
    var spent: [String?] = []
    var failure: (any Error)?
  }

  private let state = Lock(State())
  let lifetime: Duration

  init(lifetime: Duration = .seconds(100)) { self.lifetime = lifetime }

  /// The refresh tokens in the order in which they were spent.
  var spent: [String?] { state.withLock { $0.spent } }

  func fail(_ failure: (any Error)?) { state.withLock { $0.failure = failure } }

  func refresh(_ old: AccessToken?) throws -> AccessToken {
    try state.withLock { state in
      state.spent.append(old?.refreshToken?.reveal())
      if let failure = state.failure { throw failure }
      state.count += 1
      return try AccessToken(
        Secret("hidden-a\(state.count)"), expiresIn: lifetime, refreshToken: Secret("hidden-r\(state.count)"))
    }
  }
}

/// The source of one instance. Its initial refresh token is that of the configuration.
private struct InstanceSource: AccessTokenSource {
  let endpoint: RotatingEndpoint
  var gate: @Sendable () async throws -> Void = {}

  func token(replacing old: AccessToken?) async throws -> AccessToken {
    let token = try endpoint.refresh(old)
    try await gate()
    return token
  }
}

@Suite("One token for several instances", .timeLimit(.minutes(15)))
struct SharedTokenTests {
  private let clock = ManualClock(autoAdvance: true)
  private let store: MemoryFleetStore
  private let endpoint = RotatingEndpoint()
  private let log = LogLines()
  private let metrics = TestMetrics()

  init() {
    let time = clock.timeSource
    // As the stores of the product, it has the date as its time.
    store = MemoryFleetStore(now: { .seconds(1_790_000_000) + time.now() })
  }

  private func instance(
    _ edit: (inout InstanceSource) -> Void = { _ in }, key: String = testKey, earlierKeys: [SealingKey] = [],
    refreshesAlone: Bool = true, by real: MemoryFleetStore? = nil
  ) throws -> any AccessTokenSource {
    var source = InstanceSource(endpoint: endpoint)
    edit(&source)
    return try source.shared(
      in: real ?? store, as: "api", sealedWith: SealingKey(base64: Secret(key)), earlierKeys: earlierKeys,
      patience: .milliseconds(100), refreshesAlone: refreshesAlone,
      logger: Logger(label: "fleet") { [log] _ in log }, time: real == nil ? clock.timeSource : .continuous)
  }

  /// Returns a store for instances that use the system's clock. The other clock advances with each look of an instance
  /// that waits, so that leases end while the others run.
  private func realStore() -> MemoryFleetStore { MemoryFleetStore(now: { TimeSource.continuous.now() }) }

  @Test("The second instance takes the token that the first one has got, with its remaining lifetime")
  func taken() async throws {
    let (one, two) = (try instance(), try instance())
    let first = try await one.token(replacing: nil)
    #expect(first.value == "hidden-a1" && first.expiresIn == .seconds(100))
    clock.advance(by: .seconds(40))
    let second = try await two.token(replacing: nil)
    #expect(second.value == "hidden-a1" && second.expiresIn == .seconds(60) && second.refreshToken == "hidden-r1")
    #expect(endpoint.spent == [nil])
  }

  @Test("A token that two instances replace one after the other is refreshed once")
  func replaced() async throws {
    let (one, two) = (try instance(), try instance())
    let first = try await one.token(replacing: nil)
    let held = try await two.token(replacing: nil)
    let next = try await one.token(replacing: first)
    #expect(next.value == "hidden-a2")
    #expect(try await two.token(replacing: held).value == "hidden-a2")
    #expect(try await two.token(replacing: next).value == "hidden-a3")
    #expect(endpoint.spent == [nil, "hidden-r1", "hidden-r2"])
  }

  @Test("An expired shared token is not taken, and its refresh token is spent")
  func expired() async throws {
    _ = try await instance().token(replacing: nil)
    clock.advance(by: .seconds(101))
    #expect(try await instance().token(replacing: nil).value == "hidden-a2")
    #expect(endpoint.spent == [nil, "hidden-r1"])
  }

  @Test("Twenty instances that begin at once send one request")
  func atOnce() async throws {
    let store = realStore()
    let instances = try (0..<20).map { _ in try instance({ $0.gate = { await Task.yield() } }, by: store) }
    let values = try await withThrowingTaskGroup(of: Secret.self) { group in
      for instance in instances { group.addTask { try await instance.token(replacing: nil).value } }
      return try await group.reduce(into: Set<Secret>()) { $0.insert($1) }
    }
    #expect(values == ["hidden-a1"] && endpoint.spent == [nil])
  }

  @Test("The others wait for an instance that never returns until its lease is over, and then spend the same token")
  func crashed() async throws {
    _ = try await instance().token(replacing: nil)
    let gate = OneAnswer<Void>(), reached = OneAnswer<Void>()
    let stuck = try instance { source in
      source.gate = {
        reached.give(())
        await gate.wait()
        throw CancellationError()
      }
    }
    // The clock of this test advances with each sleep, but not with limits, so that the instance is stuck for good.
    let token = try await instance().token(replacing: nil)
    let work = Task { try await stuck.token(replacing: token) }
    await reached.wait()
    let start = clock.now
    #expect(try await instance().token(replacing: token).value == "hidden-a3")
    #expect(clock.now - start >= .seconds(20) && clock.now - start < .seconds(21))
    #expect(endpoint.spent == [nil, "hidden-r1", "hidden-r1"])
    work.cancel()
    gate.give(())
  }

  @Test("A caller that is cancelled leaves, and the new pair is shared nevertheless")
  func cancelled() async throws {
    let gate = OneAnswer<Void>(), reached = OneAnswer<Void>()
    let store = realStore()
    let one = try instance(
      { source in
        source.gate = {
          reached.give(())
          await gate.wait()
        }
      }, by: store)
    let work = Task { try await one.token(replacing: nil) }
    await reached.wait()
    work.cancel()
    await #expect(throws: CancellationError.self) { try await work.value }
    gate.give(())
    #expect(try await instance(by: store).token(replacing: nil).value == "hidden-a1")
    #expect(endpoint.spent == [nil])
  }

  @Test("After a refused refresh the next instance need not wait, and gets the error of its own request")
  func refused() async throws {
    _ = try await instance().token(replacing: nil)
    let held = try await instance().token(replacing: nil)
    endpoint.fail(TestFailure("refused"))
    let start = clock.now
    for _ in 0..<2 {
      let next = try instance()
      await #expect(throws: TestFailure.self) { try await next.token(replacing: held) }
    }
    #expect(clock.now == start)
    endpoint.fail(nil)
    #expect(try await instance().token(replacing: held).value == "hidden-a2")
    #expect(endpoint.spent == [nil, "hidden-r1", "hidden-r1", "hidden-r1"])
  }

  @Test("An announcement or a new pair whose response was lost is found in the store")
  func lostResponses() async throws {
    let one = try instance()
    store.loseResponses(1)
    #expect(try await one.token(replacing: nil).value == "hidden-a1")
    store.loseResponses(2)
    #expect(try await one.token(replacing: AccessToken("hidden-a1")).value == "hidden-a2")
    #expect(try await instance().token(replacing: AccessToken("hidden-a1")).value == "hidden-a2")
    #expect(endpoint.spent == [nil, "hidden-r1"])
  }

  @Test("Without the store an instance refreshes alone, says so once, and shares its pair when the store is back")
  func lost() async throws {
    let store = realStore()
    let (one, two) = (try instance(by: store), try instance(by: store))
    let first = try await one.token(replacing: nil)
    store.fail(MemoryFleetStore.down)
    let second = try await one.token(replacing: first)
    let third = try await one.token(replacing: second)
    #expect(third.value == "hidden-a3")
    #expect(log.all.count == 1)
    #expect(
      log.all.first
        == "warning: the store of the shared token api is lost, and the token is refreshed by this instance alone: "
        + "unreachable: the store is down")
    store.fail(nil)
    // The second instance looks as soon as the pair was written, so that it does not spend a token itself.
    let (before, deadline) = (store.changes, ContinuousClock.now + .seconds(60))
    while store.changes == before, ContinuousClock.now < deadline { try await Task.sleep(for: .milliseconds(10)) }
    #expect(try await two.token(replacing: first).value == "hidden-a3")
    #expect(endpoint.spent == [nil, "hidden-r1", "hidden-r2"])
    #expect(log.all.count(where: { $0 == "notice: the store of the shared token api is back" }) <= 1)
  }

  @Test("An instance that must not refresh alone reports the loss of the store")
  func notAlone() async throws {
    let one = try instance(refreshesAlone: false)
    store.fail(MemoryFleetStore.down)
    await #expect(throws: MemoryFleetStore.down) { try await one.token(replacing: nil) }
    store.fail(nil)
    #expect(try await one.token(replacing: nil).value == "hidden-a1")
    #expect(endpoint.spent == [nil])
  }

  @Test("A store that has lost its data gets the pair from an instance that knows it")
  func emptied() async throws {
    let one = try instance()
    let first = try await one.token(replacing: nil)
    store.removeAll()
    #expect(try await one.token(replacing: first).value == "hidden-a2")
    store.removeAll()
    #expect(try await one.token(replacing: nil).value == "hidden-a2")
    #expect(try await instance().token(replacing: nil).value == "hidden-a2")
    #expect(endpoint.spent == [nil, "hidden-r1"])
  }

  @Test("A token that the application sets replaces the shared one at its next refresh")
  func setByApplication() async throws {
    let (one, two) = (try instance(), try instance())
    let first = try await one.token(replacing: nil)
    _ = try await two.token(replacing: nil)
    one.forget()
    let login = try AccessToken("hidden-x", refreshToken: "hidden-y")
    #expect(try await one.token(replacing: login).value == "hidden-a2")
    #expect(try await two.token(replacing: first).value == "hidden-a2")
    #expect(endpoint.spent == [nil, "hidden-y"])
  }

  @Test("Stored values show nothing of the tokens, and another key makes an instance refresh alone")
  func sealed() async throws {
    let other = "B" + testKey.dropFirst()
    _ = try await instance().token(replacing: nil)
    #expect(store.values.count == 1)
    #expect(!store.values.contains { String(decoding: $0, as: UTF8.self).contains("hidden") })
    #expect(try await instance(key: other).token(replacing: nil).value == "hidden-a2")
    #expect(log.all.first?.contains("sealed with another key, or was changed") == true)
    let both = try instance(key: other, earlierKeys: [SealingKey(base64: Secret(testKey))])
    #expect(try await both.token(replacing: nil).value == "hidden-a1")
    #expect(endpoint.spent == [nil, nil])
  }

  @Test("The authenticator takes the shared source as one argument")
  func authenticator() async throws {
    let transport = ScriptedTransport([.respond(status: 200), .respond(status: 401), .respond(status: 200)])
    let authenticator = try BearerAuthenticator(
      source: InstanceSource(endpoint: endpoint).shared(
        in: store, as: "api", sealedWith: SealingKey(base64: Secret(testKey)), time: clock.timeSource),
      origins: [Origin("https://api.example")])
    var configuration = StackConfiguration(interceptors: [authenticator, .retry])
    configuration.timeSource = clock.timeSource
    let stack = TransportNetworkStack(transport: transport, configuration: configuration)
    for _ in 0..<2 { _ = try await stack.fetch(.raw(try ResourceRequest(url: "https://api.example/"))) }
    #expect(
      transport.requests.map { $0.head.headerFields[.authorization] }
        == ["Bearer hidden-a1", "Bearer hidden-a1", "Bearer hidden-a2"])
    #expect(endpoint.spent == [nil, "hidden-r1"])
  }

  /// Returns a stack whose token is that of a source.
  private func stack(
    _ source: some AccessTokenSource, over transport: ScriptedTransport, time: TimeSource
  ) throws -> TransportNetworkStack {
    let authenticator = try BearerAuthenticator(
      source: source, origins: [Origin("https://api.example")], timeSource: time)
    var configuration = StackConfiguration(interceptors: [authenticator])
    configuration.timeSource = time
    configuration.observers = [.metrics(factory: metrics)]
    return TransportNetworkStack(transport: transport, configuration: configuration)
  }

  /// Returns the notes in the ledger of a call.
  private func texts(_ stack: TransportNetworkStack) async throws -> [String] {
    let ledger = try await stack.fetch(.raw(try ResourceRequest(url: "https://api.example/a"))).response.ledger
    return ledger.attempts.flatMap { $0.facts?.notes ?? [] }.map(\.text)
  }

  @Test("The loss of a store that no call survives is in the ledger of the first call afterwards, before the return")
  func lateNotes() async throws {
    let stack = try stack(
      instance(refreshesAlone: false), over: ScriptedTransport(repeatingLast: .respond(status: 200)),
      time: clock.timeSource)
    store.fail(MemoryFleetStore.down)
    await #expect(throws: HTTPFetchError<any Error>.self) { try await texts(stack) }
    store.fail(nil)
    // The authenticator waits a second after a failed refresh.
    clock.advance(by: .seconds(2))
    #expect(
      try await texts(stack) == [
        "the store of the shared token api is lost, and the token is not refreshed",
        "the store of the shared token api is back",
      ])
    #expect(try await texts(stack) == [])
    let changes = metrics.counters.filter { $0.label == "lastro.client.fleet.changes" }
    #expect(Set(changes.compactMap { $0.dimensions.last?.1 }) == ["store_lost", "store_back"])
  }

  @Test("The notes of a store that comes and goes while no token is got are bounded")
  func manyNotes() async throws {
    let one = try instance(refreshesAlone: false)
    endpoint.fail(TestFailure("refused"))
    for _ in 0..<10 {
      store.fail(MemoryFleetStore.down)
      await #expect(throws: MemoryFleetStore.down) { try await one.token(replacing: nil) }
      store.fail(nil)
      await #expect(throws: TestFailure.self) { try await one.token(replacing: nil) }
    }
    let source = try #require(one as? any NotingTokenSource)
    #expect(source.takeNotes().map(\.detail) == ["store_lost", "store_back", "store_lost", "store_back"])
    #expect(source.takeNotes().isEmpty)
  }

  @Test("The ledger of the next call has the loss of the store, and its return, once each")
  func notes() async throws {
    let store = realStore()
    let transport = ScriptedTransport(
      repeatingLast: .respond(status: 302, headers: [.location: "/b"]), .respond(status: 200))
    let stack = try stack(instance(by: store), over: transport, time: .continuous)
    store.fail(MemoryFleetStore.down)
    let lost = "the store of the shared token api is lost, and the token is refreshed by this instance alone"
    #expect(try await texts(stack) == [lost])
    #expect(try await texts(stack) == [])
    store.fail(nil)
    var found: [String] = []
    #expect(
      try await eventually {
        found += try await texts(stack)
        return !found.isEmpty
      })
    #expect(found == ["the store of the shared token api is back"])
    let changes = metrics.counters.filter { $0.label == "lastro.client.fleet.changes" }
    #expect(Set(changes.compactMap { $0.dimensions.last?.1 }) == ["store_lost", "store_back"])
  }

  @Test("Values out of range are refused")
  func configuration() throws {
    let source = InstanceSource(endpoint: endpoint)
    let key = try SealingKey(base64: Secret(testKey))
    for name in ["", "a b", String(repeating: "a", count: 61)] {
      #expect(throws: ConfigurationError.self) { try source.shared(in: store, as: name, sealedWith: key) }
    }
    for lease in [Duration.zero, .seconds(601)] {
      #expect(throws: ConfigurationError.self) { try source.shared(in: store, as: "a", sealedWith: key, lease: lease) }
    }
    #expect(throws: ConfigurationError.self) {
      try source.shared(in: store, as: "a", sealedWith: key, patience: .seconds(-1))
    }
  }
}
