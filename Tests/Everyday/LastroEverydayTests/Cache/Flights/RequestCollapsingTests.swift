// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import LastroEveryday
import LastroSupport
import LastroTesting
import TestSupport
import Testing

@Suite("Concurrent equal requests share a transfer without a cache", .timeLimit(.minutes(15)))
struct RequestCollapsingTests {
  /// A stack over an origin that responds once the test opens the gate.
  struct World {
    let gate = Watched(false)
    let clock = ManualClock()
    let collapsing = RequestCollapsing()
    let origin: ScriptedTransport
    let stack: TransportNetworkStack

    init(_ answer: @escaping @Sendable (TransferRequest, Int) throws(TransportError) -> TransferResponse) {
      let gate = gate
      origin = ScriptedTransport(time: clock.timeSource) { (request, number) throws(TransportError) in
        let isOpen = if request.head.method == .put { true } else { await gate.wait { $0 } }
        guard isOpen else { throw .cancelled(requestSent: true) }
        return try answer(request, number)
      }
      var configuration = StackConfiguration()
      configuration.timeSource = clock.timeSource
      configuration.collapsing = collapsing
      stack = TransportNetworkStack(transport: origin, configuration: configuration)
    }

    var transfers: Int { origin.requests.count }

    func open() { gate.change { $0 = true } }

    func get(
      _ method: HTTPRequest.Method = .get, fields: HTTPFields = [:], _ edit: (inout RequestOptions) -> Void = { _ in }
    ) async throws -> (body: String, report: CacheReport?) {
      var options = RequestOptions()
      edit(&options)
      let value = try await stack.fetch(
        RawHTTPResource.test(method, url: "https://example.com/a", fields: fields, options: options))
      return (String(decoding: value.value, as: UTF8.self), value.response.facts.cacheReport)
    }
  }

  @Test("A hundred equal requests are one transfer, and nothing is stored")
  func many() async throws {
    let world = World { (_, number) throws(TransportError) in
      .answer(200, fields: [.cacheControl: "max-age=60"], body: "\(number)")
    }
    try await withThrowingTaskGroup(of: (body: String, report: CacheReport?).self) { group in
      for number in 0..<100 {
        // Requests that differ only in their trace headers are collapsed.
        group.addTask { try await world.get(fields: [.of("traceparent"): "\(number)"]) }
      }
      #expect(await eventually { world.collapsing.waiting == 100 })
      world.open()
      var collapsed = 0
      for try await got in group {
        #expect(got.body == "0")
        if got.report?.isCollapsed == true { collapsed += 1 }
      }
      #expect(collapsed == 99 && world.transfers == 1)
    }
    #expect(try await world.get().body == "1")
    #expect(await world.stack.explain(try RawHTTPResource.test()).contains("shared with equal requests"))
  }

  @Test("Requests that differ, or must not share, are separate transfers")
  func unequal() async throws {
    let world = World { (_, number) throws(TransportError) in .answer(200, body: "\(number)") }
    let edits: [(HTTPRequest.Method, HTTPFields, @Sendable (inout RequestOptions) -> Void)] = [
      (.get, [:], { _ in }), (.head, [:], { _ in }), (.get, [.authorization: "ann"], { _ in }),
      (.get, [:], { $0.principal = "ann" }), (.get, [:], { $0.principal = "" }),
      (.get, [:], { $0.maximumBodyBytes = 5 }), (.get, [:], { $0.connection = .edited { $0.proxy = .none } }),
      (.get, [:], { $0.connection = .edited { $0.tls.trustJudge = ScriptedJudge(accepts: { _ in true }) } }),
      (.get, [:], { $0.cache = .reload }), (.get, [:], { $0.cache = .noStore }),
      (.get, [:], { $0.onInterimResponse = { _ in } }), (.post, [:], { _ in }), (.post, [:], { _ in }),
    ]
    try await withThrowingTaskGroup(of: Void.self) { group in
      for (method, fields, edit) in edits { group.addTask { _ = try await world.get(method, fields: fields, edit) } }
      #expect(await eventually { world.transfers == edits.count })
      world.open()
      try await group.waitForAll()
    }
  }

  @Test("A failure is shared unless it is specific to the first request, which alone gets a cookie")
  func failures() async throws {
    for (stage, transfers) in [(FailureStage.connect, 1), (.limit, 2), (.timeout, 2), (.policy, 2)] {
      let world = World { (_, _) throws(TransportError) in
        throw TransportError(stage: stage, code: .connectFailed, message: "down")
      }
      let both = [Task { try await world.get() }, Task { try await world.get() }]
      #expect(await eventually { world.collapsing.waiting == 2 })
      world.open()
      for one in both { await #expect(throws: HTTPFetchError<any Error>.self) { try await one.value } }
      #expect(world.transfers == transfers)
    }
    let world = World { (_, number) throws(TransportError) in
      .answer(200, fields: [.setCookie: "s=\(number)"], body: "\(number)")
    }
    let both = [Task { try await world.get() }, Task { try await world.get() }]
    #expect(await eventually { world.collapsing.waiting == 2 })
    world.open()
    #expect(try await Set([both[0].value.body, both[1].value.body]) == ["0", "1"])
    // If the body is truncated, the error carries the response head.
    let cut = World { (_, number) throws(TransportError) in
      var error = TransportError(stage: .response, code: .truncatedBody, message: "cut")
      error.head = HTTPResponse(status: .ok, headerFields: [.setCookie: "s=\(number)"])
      throw error
    }
    let visits = [Task { try await cut.get() }, Task { try await cut.get() }]
    #expect(await eventually { cut.collapsing.waiting == 2 })
    cut.open()
    for visit in visits { await #expect(throws: HTTPFetchError<any Error>.self) { try await visit.value } }
    #expect(cut.transfers == 2)
  }

  @Test("Each request has its own cancellation and deadline, and one after a change joins no earlier transfer")
  func alone() async throws {
    let world = World { (request, number) throws(TransportError) in .answer(200, body: "\(number)") }
    let leader = Task { try await world.get() }
    #expect(await eventually { world.transfers == 1 })
    let late = Task { try await world.get { $0.timeouts = try? Timeouts(total: .seconds(2)) } }
    let other = Task { try await world.get() }
    #expect(await eventually { world.collapsing.waiting == 3 })
    try await world.clock.waitForLimits(count: 3)
    world.clock.advance(by: .seconds(3))
    let error = await #expect(throws: HTTPFetchError<any Error>.self) { try await late.value }
    #expect(error?.code == .totalTimeout && "\(error.map { "\($0)" } ?? "")".contains("for an equal request"))
    leader.cancel()
    await #expect(throws: (any Error).self) { try await leader.value }
    _ = try await world.get(.put)
    let behind = Task { try await world.get() }
    #expect(await eventually { world.transfers == 3 })
    world.open()
    #expect(try await other.value.body == "0")
    #expect(try await behind.value.body == "2")
    #expect(world.collapsing.waiting == 0)
  }
}
