// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import LastroTesting
import TestSupport
import Testing

@testable import Lastro

/// The properties that each interceptor of these tests has.
struct HookBase: Sendable {
  var name: String
  var log: EventRecorder<String>
  var waits = true

  func tell(_ event: String) { log.record("\(name) \(event)") }
}

private protocol Telling: HTTPResourceInterceptor {
  init(base: HookBase)
  var base: HookBase { get }
}

extension Telling {
  var hooksWait: Bool { base.waits }
}

// Each protocol adds one hook; a type that conforms to several has all of their hooks.

private protocol Making: Telling {}
extension Making {
  func interceptMakeRequest(
    _ result: Result<ResourceRequest, any Error>, context: AttemptContext
  ) async -> Result<ResourceRequest, any Error> {
    base.tell("makes")
    return result
  }
}

private protocol Scheduling: Telling {}
extension Scheduling {
  func interceptScheduled(_ request: ResourceRequest, context: AttemptContext) async { base.tell("scheduled") }
}

private protocol Succeeding: Telling {}
extension Succeeding {
  func interceptSucceeded(
    _ request: ResourceRequest, response: ResourceResponse, body: Data?, context: AttemptContext
  ) async { base.tell("succeeded") }
}

private protocol Failing: Telling {}
extension Failing {
  func interceptFailed(
    _ request: ResourceRequest?, response: ResourceResponse?, body: Data?, error: HTTPFetchError<any Error>,
    context: AttemptContext
  ) async -> Retry.Action {
    base.tell("failed")
    return .none
  }
}

private struct Bare: Telling { let base: HookBase }
private struct M: Making { let base: HookBase }
private struct S: Scheduling { let base: HookBase }
private struct MS: Making, Scheduling { let base: HookBase }
private struct U: Succeeding { let base: HookBase }
private struct MU: Making, Succeeding { let base: HookBase }
private struct SU: Scheduling, Succeeding { let base: HookBase }
private struct MSU: Making, Scheduling, Succeeding { let base: HookBase }
private struct F: Failing { let base: HookBase }
private struct MF: Making, Failing { let base: HookBase }
private struct SF: Scheduling, Failing { let base: HookBase }
private struct MSF: Making, Scheduling, Failing { let base: HookBase }
private struct UF: Succeeding, Failing { let base: HookBase }
private struct MUF: Making, Succeeding, Failing { let base: HookBase }
private struct SUF: Scheduling, Succeeding, Failing { let base: HookBase }
private struct MSUF: Making, Scheduling, Succeeding, Failing { let base: HookBase }

/// A separate type for every `Parameter`. The chain knows nothing about its hooks before the first use.
private struct Fresh<Parameter>: Scheduling, Failing { let base: HookBase }

/// A class with a hook that its subclass overrides. A further hook that only the subclass has does not belong to the
/// conformance, by Swift's rules.
private class Parent: HTTPResourceInterceptor, @unchecked Sendable {
  // Sendable because all stored properties are constant and Sendable.
  let base: HookBase
  init(_ base: HookBase) { self.base = base }

  func interceptScheduled(_ request: ResourceRequest, context: AttemptContext) async { base.tell("scheduled") }
}

private final class Child: Parent, @unchecked Sendable {
  // Sendable because its parent class is.
  override func interceptScheduled(_ request: ResourceRequest, context: AttemptContext) async {
    base.tell("overridden")
  }

  func interceptSucceeded(
    _ request: ResourceRequest, response: ResourceResponse, body: Data?, context: AttemptContext
  ) async { base.tell("never") }
}

private actor Counting: HTTPResourceInterceptor {
  let base: HookBase
  private var count = 0
  init(_ base: HookBase) { self.base = base }

  func interceptSucceeded(
    _ request: ResourceRequest, response: ResourceResponse, body: Data?, context: AttemptContext
  ) async {
    count += 1
    base.tell("succeeded \(count)")
  }
}

private enum Choice: HTTPResourceInterceptor {
  case only(HookBase)

  func interceptFailed(
    _ request: ResourceRequest?, response: ResourceResponse?, body: Data?, error: HTTPFetchError<any Error>,
    context: AttemptContext
  ) async -> Retry.Action {
    if case .only(let base) = self { base.tell("failed") }
    return .none
  }
}

/// An interceptor that records every event and passes it on to another interceptor. The other interceptor may have
/// hooks that this one lacks.
private struct Forwarding: HTTPResourceInterceptor {
  let base: HookBase
  let next: any HTTPResourceInterceptor

  func interceptMakeRequest(
    _ result: Result<ResourceRequest, any Error>, context: AttemptContext
  ) async -> Result<ResourceRequest, any Error> {
    base.tell("makes")
    return await next.interceptMakeRequest(result, context: context)
  }

  func interceptScheduled(_ request: ResourceRequest, context: AttemptContext) async {
    base.tell("scheduled")
    await next.interceptScheduled(request, context: context)
  }

  func interceptSucceeded(
    _ request: ResourceRequest, response: ResourceResponse, body: Data?, context: AttemptContext
  ) async {
    base.tell("succeeded")
    await next.interceptSucceeded(request, response: response, body: body, context: context)
  }

  func interceptFailed(
    _ request: ResourceRequest?, response: ResourceResponse?, body: Data?, error: HTTPFetchError<any Error>,
    context: AttemptContext
  ) async -> Retry.Action {
    base.tell("failed")
    return await next.interceptFailed(request, response: response, body: body, error: error, context: context)
  }
}

private struct OnlyAuthenticating: RequestAuthenticator, HTTPResourceInterceptor {
  let base: HookBase

  func authenticate(_ request: ResourceRequest) async throws -> ResourceRequest {
    base.tell("makes")
    return request
  }
}

@Suite("Hooks: those a type implements are always called, others are not", .timeLimit(.minutes(15)))
struct HookPresenceTests {
  /// Every combination of hooks, in the order of the bits of `HookSet`.
  private static let combinations: [any Telling.Type] = [
    Bare.self, M.self, S.self, MS.self, U.self, MU.self, SU.self, MSU.self, F.self, MF.self, SF.self, MSF.self, UF.self,
    MUF.self, SUF.self, MSUF.self,
  ]

  /// Returns the expected events of a call with two attempts. The first attempt fails, and the second is redirected.
  private static func expected(_ chain: [(name: String, hooks: HookSet)]) -> [String] {
    func all(_ hook: HookSet, _ event: String) -> [String] {
      chain.filter { $0.hooks.contains(hook) }.map { "\($0.name) \(event)" }
    }
    let sent = all(.makeRequest, "makes") + all(.scheduled, "scheduled")
    return sent + all(.failed, "failed") + sent + sent + all(.succeeded, "succeeded")
  }

  /// Fetches with a transport that fails once, redirects once, and then succeeds.
  private static func fetch(_ stack: [any HTTPResourceInterceptor], _ own: [any HTTPResourceInterceptor]) async throws {
    let transport = ScriptedTransport(repeatingLast: .fail(.connect, .connectFailed), .redirect(to: "/b"), .answer(200))
    // The retry interceptor is last in the chain, so it asks for the retry. `Hooks` has every hook, but records none.
    let retry = RetryInterceptor(policy: .maxRetries(1))
    _ = try await TransportNetworkStack(transport, interceptors: stack).fetch(.test(interceptors: own + [retry]))
    #expect(transport.requests.count == 3)
  }

  @Test("Every combination of hooks is called next to every other, on stack and resource, with and without suspension")
  func combinations() async throws {
    for (first, firstType) in Self.combinations.enumerated() {
      for (second, secondType) in Self.combinations.enumerated() {
        let log = EventRecorder<String>()
        let waits = (first + second) % 3
        let a = firstType.init(base: HookBase(name: "a", log: log, waits: waits != 0))
        let b = secondType.init(base: HookBase(name: "b", log: log, waits: waits != 1))
        let c = firstType.init(base: HookBase(name: "c", log: log, waits: waits == 2))
        try await Self.fetch([a, b], [c])
        let (own, other) = (HookSet(rawValue: UInt8(first)), HookSet(rawValue: UInt8(second)))
        #expect(log.events == Self.expected([("a", own), ("b", other), ("c", own)]), "\(firstType), \(secondType)")
      }
    }
    // After the first call, the chain calls only the hooks that a type has.
    for (bits, type) in Self.combinations.enumerated() {
      #expect(KnownHooks.of(type).present == HookSet(rawValue: UInt8(bits)), "\(type)")
      let known = InterceptorChain([type.init(base: HookBase(name: "", log: EventRecorder(), waits: true))]).hooks
      #expect(known.present.rawValue == UInt8(bits) && known.waiting == known.present)
      let prompt = InterceptorChain([type.init(base: HookBase(name: "", log: EventRecorder(), waits: false))]).hooks
      #expect(prompt.present.rawValue == UInt8(bits) && prompt.waiting.isEmpty)
    }
  }

  @Test("All hooks of a previously unknown type are called in many concurrent calls")
  func learning() async throws {
    try await expectEveryHook(of: Fresh<Int>.self, depth: 20)
  }

  private func expectEveryHook<T: Telling>(of type: T.Type, depth: Int) async throws {
    #expect(KnownHooks.of(type).present == .all)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for call in 0..<16 {
        group.addTask {
          let log = EventRecorder<String>()
          try await Self.fetch([T(base: HookBase(name: "a", log: log, waits: call % 2 == 0))], [])
          #expect(log.events == Self.expected([("a", [.scheduled, .failed])]))
        }
      }
      try await group.waitForAll()
    }
    #expect(KnownHooks.of(type).present == [.scheduled, .failed])
    if depth > 0 { try await expectEveryHook(of: Fresh<T>.self, depth: depth - 1) }
  }

  @Test("A forwarding interceptor is called itself, whatever hooks the next one lacks, even one of its own type")
  func forwarding() async throws {
    for (bits, type) in Self.combinations.enumerated() {
      for _ in 0..<3 {
        let log = EventRecorder<String>()
        let inner = type.init(base: HookBase(name: "i", log: log))
        let middle = Forwarding(base: HookBase(name: "m", log: log), next: inner)
        try await Self.fetch([Forwarding(base: HookBase(name: "o", log: log), next: middle)], [])
        let expected = Self.expected([("o", .all), ("m", .all), ("i", HookSet(rawValue: UInt8(bits)))])
        // One event goes through all three interceptors before the next event begins.
        #expect(log.events == expected)
      }
    }
    #expect(KnownHooks.of(Forwarding.self).present == .all)
  }

  @Test("A standard interceptor works by itself, and behind an interceptor that forwards to it")
  func standard() async throws {
    let retry = StandardInterceptor.retry(.maxRetries(1))
    let log = EventRecorder<String>()
    let interceptors: [any HTTPResourceInterceptor] = [
      retry, Forwarding(base: HookBase(name: "o", log: log), next: retry),
    ]
    for interceptor in interceptors {
      let transport = ScriptedTransport([.fail(.connect, .connectFailed), .answer(200)])
      _ = try await TransportNetworkStack(transport, interceptors: [interceptor]).fetch(.test(interceptors: []))
      try transport.verify()
    }
    let sent = ["o makes", "o scheduled"]
    #expect(log.events == sent + ["o failed"] + sent + ["o succeeded"])
    let origin = try Origin("https://example.com")
    let basic = try StandardInterceptor.basic(user: "u", password: "p", origins: [origin])
    #expect(basic.credentialOrigins == [origin] && !basic.hooksWait)
    let chain = InterceptorChain([retry, basic]).all
    #expect(chain.first is RetryInterceptor && chain.last is BasicAuthenticator)
  }

  @Test("Hooks of classes, subclasses, actors, enums and authenticators are called")
  func kinds() async throws {
    for _ in 0..<3 {
      let log = EventRecorder<String>()
      func base(_ name: String) -> HookBase { HookBase(name: name, log: log) }
      try await Self.fetch(
        [Parent(base("p")), Child(base("c"))],
        [Counting(base("x")), Choice.only(base("e")), OnlyAuthenticating(base: base("u"))])
      let sent = ["u makes", "p scheduled", "c overridden"]
      #expect(log.events == sent + ["e failed"] + sent + sent + ["x succeeded 1"])
    }
    #expect(KnownHooks.of(OnlyAuthenticating.self).present == [.makeRequest, .failed])
    #expect(KnownHooks.of(RetryInterceptor.self).present == [.failed])
  }

  @Test("An interceptor without a retry hook takes part in a resource's own folding rule")
  func fold() async throws {
    for _ in 0..<3 {
      let folded = EventRecorder<String>()
      let log = EventRecorder<String>()
      var resource = try RawHTTPResource.test(interceptors: [
        RetryInterceptor(policy: .maxRetries(3)), S(base: HookBase(name: "s", log: log)),
      ])
      // The last opinion counts, here that of the interceptor that has none.
      resource.retryActionPriority = { lhs, rhs in
        folded.record("\(RetryTests.text(lhs)) | \(RetryTests.text(rhs))")
        return rhs
      }
      let transport = ScriptedTransport(repeatingLast: .answer(503))
      _ = try await TransportNetworkStack(transport).failure(of: resource)
      #expect(transport.requests.count == 1 && folded.events == ["none | retry", "retry | none"])
    }
  }

  @Test("Credentials are dropped after a redirect, also with interceptors that make no requests")
  func redirect() async throws {
    for _ in 0..<3 {
      let log = EventRecorder<String>()
      let transport = ScriptedTransport(repeatingLast: .redirect(to: "https://other.example/"), .answer(200))
      let request = try ResourceRequest.test(fields: [.authorization: "Bearer t"])
      let chain: [any HTTPResourceInterceptor] = [
        Bare(base: HookBase(name: "n", log: log)), U(base: HookBase(name: "u", log: log)),
      ]
      _ = try await TransportNetworkStack(transport, interceptors: chain).fetch(.raw(request))
      #expect(transport.requests.map { $0.head.headerFields[.authorization] } == ["Bearer t", nil])
      #expect(log.events == ["u succeeded"])
    }
  }
}
