// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import LastroSupport
import LastroTesting
import TestSupport
import Testing

@testable import LastroResilience

@Suite("Faults by rule", .timeLimit(.minutes(15)))
struct FaultRuleTests {
  private static let body = "0123456789"

  private struct World {
    let transport: ScriptedTransport
    let clock = ManualClock(autoAdvance: true)
    let stack: TransportNetworkStack

    init(_ rules: [FaultRule], retries: Int = 0, _ edit: (inout StackConfiguration) -> Void = { _ in }) {
      transport = ScriptedTransport(repeatingLast: .respond(status: 200, body: FaultRuleTests.body))
      var configuration = StackConfiguration()
      configuration.timeSource = clock.timeSource
      configuration.randomSource = .constant(0)
      configuration.faults = rules
      if retries > 0 { configuration.interceptors = [.retry(.maxRetries(retries))] }
      edit(&configuration)
      stack = TransportNetworkStack(transport: transport, configuration: configuration)
    }

    /// Returns the status or the failure of a request, and the texts of the notes of its last attempt.
    func end(_ method: HTTPRequest.Method = .get, _ url: String = "https://api.example/v1/a") async -> (
      String, [String]
    ) {
      do {
        let answer = try await stack.fetch(.send(method, url))
        return ("\(answer.response.status.code)", answer.response.facts.notes.map(\.text))
      } catch {
        let outcome = error.stage == .http ? "\(error.statusCode?.code ?? 0)" : "\(error.stage.rawValue)/\(error.code)"
        return (outcome, error.attempts.last?.facts?.notes.map(\.text) ?? [])
      }
    }
  }

  @Test("Without rules there is no layer, and the ledger has no notes")
  func off() async throws {
    let world = World([])
    #expect(await world.end() == ("200", []))
    var configuration = StackConfiguration()
    configuration.faults = [try FaultRule("a", .delay(.zero))]
    #expect(configuration.faults.map(\.name) == ["a"])
    configuration.faults = []
    #expect(configuration.faults.isEmpty)
  }

  @Test(
    "A failure is injected at its stage, without sending, and only a safe request is repeated",
    arguments: [
      (FailureCode.hostNotFound, "resolve", false), (.connectFailed, "connect", false),
      (.connectTimeout, "timeout", false),
      (.handshakeFailed, "tls", false), (.sendFailed, "send", true), (.connectionLost, "response", true),
      (.idleTimeout, "timeout", true),
    ])
  func failures(code: FailureCode, stage: String, mayBeSent: Bool) async throws {
    for (method, isSafe) in [(HTTPRequest.Method.get, true), (.post, false)] {
      let world = World([try FaultRule("outage", .fail(code))], retries: 2)
      let error = try await #require(throws: HTTPFetchError<any Error>.self) {
        try await world.stack.fetch(.send(method, "https://api.example/"))
      }
      #expect("\(error.stage.rawValue)" == stage && error.code == code && error.message.contains("rule outage"))
      // Each attempt counts as a request. One that may have been sent is not repeated.
      #expect(error.attempts.count == (isSafe || !mayBeSent ? 3 : 1))
      let notes = error.attempts.map { $0.facts?.notes.map(\.text) ?? [] }
      #expect(notes.allSatisfy { $0 == ["rule outage injected the failure"] })
      #expect(error.attempts.allSatisfy { $0.requestSent == mayBeSent } && world.transport.requests.isEmpty)
    }
    #expect(FaultRule.failures.count == 7)
  }

  @Test("A failure that only the first requests have is survived by retries, and the ledger names the rule")
  func retries() async throws {
    let rule = try FaultRule("first half", .fail(.connectFailed), every: 2)
    let world = World([rule], retries: 1)
    #expect(await world.end() == ("200", []))
    let answer = try await world.stack.fetch(.get("https://api.example/v1/a"))
    #expect(answer.response.ledger.attempts.map { $0.facts?.notes.map(\.detail) ?? [] } == [["first half"], []])
    #expect("\(answer.response.ledger)".contains("rule first half injected the failure"))
    #expect(world.transport.requests.count == 2)
  }

  @Test("A response takes the place of the server's")
  func responses() async throws {
    let rule = try FaultRule(
      "busy", .respond(status: .tooManyRequests, headers: [.retryAfter: "7"], body: #"{"message": "busy"}"#))
    let world = World([rule], retries: 1)
    let error = try await #require(throws: HTTPFetchError<APIFailure>.self) {
      try await world.stack.fetch(.get("https://api.example/", as: Model.self, or: APIFailure.self))
    }
    #expect(error.apiError == APIFailure(message: "busy") && world.clock.sleeps == [.seconds(7)])
    #expect(world.transport.requests.isEmpty && "\(error.ledger)".contains("rule busy injected the response"))
    let head = World([try FaultRule("fine", .respond(status: .ok, body: "x"))])
    #expect(try await head.stack.fetch(.send(.head, "https://api.example/")).value.isEmpty)
  }

  @Test("Delays add up before the request is sent, and count against its time limits")
  func delays() async throws {
    let rules = [try FaultRule("one", .delay(.seconds(2))), try FaultRule("two", .delay(.seconds(3)))]
    let world = World(rules)
    #expect(await world.end() == ("200", ["rule one injected a delay of 2 s", "rule two injected a delay of 3 s"]))
    #expect(world.clock.sleeps == [.seconds(2), .seconds(3)] && world.transport.requests.count == 1)
    let short = World(rules) { $0.timeouts.total = .seconds(4) }
    let (outcome, notes) = await short.end()
    #expect(outcome == "timeout/total_timeout" && notes.count == 2 && short.transport.requests.isEmpty)
    #expect(short.clock.sleeps == [.seconds(2), .seconds(2)])
  }

  @Test("A cancelled call leaves its delay, and is not sent")
  func cancellation() async throws {
    let (transport, clock) = (ScriptedTransport(repeatingLast: .respond(status: 200)), ManualClock())
    var configuration = StackConfiguration()
    configuration.timeSource = clock.timeSource
    configuration.faults = [try FaultRule("slow", .delay(.seconds(9)))]
    let stack = TransportNetworkStack(transport: transport, configuration: configuration)
    let task = Task { try await stack.fetch(.get("https://api.example/")) }
    try await clock.waitForSleepers(count: 1)
    task.cancel()
    let error = await #expect(throws: HTTPFetchError<any Error>.self) { try await task.value }
    #expect(error?.stage == .cancelled && transport.requests.isEmpty)
  }

  @Test(
    "A body is cut after some bytes, whether it is in memory or a stream", arguments: [0, 1, 4, 9, 10, 11],
    [1, 3, 10, 0])
  func cuts(count: Int, piece: Int) async throws {
    let bytes = Array(Self.body.utf8)
    let transport = ScriptedTransport { _ throws(TransportError) in
      guard piece > 0 else { return TransferResponse(head: HTTPResponse(status: .ok), body: ResponseBody(Data(bytes))) }
      let (chunks, feed) = AsyncStream.makeStream(of: Data.self)
      for start in stride(from: 0, to: bytes.count, by: piece) {
        feed.yield(Data(bytes[start..<min(start + piece, bytes.count)]))
      }
      feed.finish()
      return TransferResponse(head: HTTPResponse(status: .ok), body: ResponseBody(chunks))
    }
    var configuration = StackConfiguration()
    configuration.faults = [
      try FaultRule("later", .cutBody(after: count + 1)), try FaultRule("cut", .cutBody(after: count)),
    ]
    let stack = TransportNetworkStack(transport: transport, configuration: configuration)
    let body = try await stack.stream(.get("https://api.example/")).value
    var received: [UInt8] = []
    do throws(TransportError) {
      for try await chunk in body { received += chunk }
      #expect(count >= bytes.count && received == bytes)
    } catch {
      #expect(error.code == .connectionLost && error.requestSent && error.message.contains("the rule cut injected"))
      #expect(count < bytes.count && received == Array(bytes.prefix(count)))
    }
    #expect(transport.requests.count == 1)
  }

  @Test("A fetch whose body is cut fails after one request, unless it is repeated by a retry")
  func collectedCut() async throws {
    let world = World([try FaultRule("cut", .cutBody(after: 4), every: 2)])
    #expect(await world.end() == ("200", []))
    let (outcome, _) = await world.end(.post)
    #expect(outcome == "response/connection_lost")
    #expect(world.transport.requests.count == 2)
  }

  @Test(
    "A rule is about its host, path and method only",
    arguments: [
      (HTTPRequest.Method.get, "https://api.example/v1/a", true), (.get, "https://API.example:8443/v1/", true),
      (.get, "https://api.example/v1", false), (.get, "https://api.example/", false),
      (.post, "https://api.example/v1/a", false),
      (.get, "https://other.example/v1/a", false), (.get, "https://x.api.example/v1/a", false),
    ])
  func matching(method: HTTPRequest.Method, url: String, isMatch: Bool) async throws {
    let rule = try FaultRule("r", .respond(status: .notFound), host: "Api.example", path: "/v1/", method: .get)
    let world = World([rule])
    #expect(await world.end(method, url).0 == (isMatch ? "404" : "200"))
    let request = RawHTTPResource.raw(try ResourceRequest(method: method, url: url))
    let words = await world.stack.explain(request).description
    #expect(words.contains("injected faults: \(isMatch ? "r" : "none for this request")"))
  }

  @Test("Every third request of a rule has its fault, whatever other requests come between")
  func everyThird() async throws {
    let world = World([try FaultRule("r", .respond(status: .notFound), path: "/v1", every: 3)])
    var outcomes: [String] = []
    for _ in 0..<7 {
      outcomes.append(await world.end().0)
      #expect(await world.end(.get, "https://api.example/other").0 == "200")
    }
    #expect(outcomes == ["200", "200", "404", "200", "200", "404", "200"])
  }

  @Test("A share is drawn by its seed, the same in each run")
  func share() async throws {
    func faults(_ seed: UInt64, _ share: Double) async throws -> [Bool] {
      let world = World([try FaultRule("r", .respond(status: .notFound), share: share, seed: seed)])
      var found: [Bool] = []
      for _ in 0..<200 { found.append(await world.end().0 == "404") }
      return found
    }
    let some = try await faults(7, 0.25)
    #expect((30...70).contains(some.count { $0 }))
    #expect(try await faults(7, 0.25) == some)
    #expect(try await faults(8, 0.25) != some)
    #expect(try await faults(7, 0).allSatisfy { !$0 })
    #expect(try await faults(7, 1).allSatisfy { $0 })
  }

  @Test("A breaker opens on injected failures as on real ones")
  func breaker() async throws {
    let world = World([try FaultRule("outage", .respond(status: .serviceUnavailable))]) {
      $0.resilience = (try? CircuitBreaker(minimumCalls: 2)).map { Resilience(breaker: $0) }
    }
    #expect(await [world.end().0, world.end().0, world.end().0] == ["503", "503", "policy/circuit_open"])
  }

  @Test("Rules that cannot work are refused with a hint")
  func settings() {
    func refuses(_ make: () throws -> FaultRule) {
      let error = #expect(throws: ConfigurationError.self) { try make() }
      #expect(error?.hint != nil)
    }
    refuses { try FaultRule("", .delay(.zero)) }
    refuses { try FaultRule("a\nb", .delay(.zero)) }
    refuses { try FaultRule(String(repeating: "a", count: 61), .delay(.zero)) }
    refuses { try FaultRule("a", .delay(.seconds(-1))) }
    refuses { try FaultRule("a", .cutBody(after: -1)) }
    refuses { try FaultRule("a", .fail(.pinMismatch)) }
    refuses { try FaultRule("a", .respond(status: .earlyHints)) }
    refuses { try FaultRule("a", .delay(.zero), path: "v1") }
    refuses { try FaultRule("a", .delay(.zero), every: 0) }
    refuses { try FaultRule("a", .delay(.zero), share: 1.1) }
    refuses { try FaultRule("a", .delay(.zero), share: .nan) }
  }
}
