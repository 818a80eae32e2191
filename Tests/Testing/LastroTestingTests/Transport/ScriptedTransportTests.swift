// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro
import LastroTesting
import TestSupport
import Testing

@testable import LastroHAR
@testable import LastroObservability

@Suite("Scripted transport", .timeLimit(.minutes(15)))
struct ScriptedTransportTests {
  private func request(_ path: String, limit: Int = 100) -> TransferRequest {
    TransferRequest(
      head: HTTPRequest(method: .get, scheme: "https", authority: "api.example", path: path),
      delivery: .collected(maximumBytes: limit))
  }

  @Test("Steps are used in order, requests recorded, and an excess request is named")
  func script() async throws {
    let failure = TransportError(stage: .connect, code: .connectFailed, message: "no")
    let transport = ScriptedTransport([
      .respond(status: 503, headers: [.retryAfter: "1"]), .fail(failure), .respond(status: 200, body: "done"),
    ])
    let first = try await transport.execute(request("/1"))
    #expect(first.head.status == 503)
    #expect(first.head.headerFields[.retryAfter] == "1")
    let error = await #expect(throws: TransportError.self) { try await transport.execute(request("/2")) }
    #expect(error?.code == .connectFailed)
    #expect(transport.remainingSteps == 1)
    let last = try await transport.execute(request("/3"))
    #expect(try await last.body.collect(upTo: 10) == Data("done".utf8))
    #expect(transport.remainingSteps == 0)
    let beyond = await #expect(throws: TransportError.self) { try await transport.execute(request("/4?x=y")) }
    #expect(beyond?.stage == .request)
    #expect(beyond?.code == .scriptExhausted)
    #expect(beyond?.message.contains("GET https://api.example/4?x=y") == true)
    #expect(transport.requests.map(\.head.path) == ["/1", "/2", "/3", "/4?x=y"])
    #expect(transport.runningRequests == 0)
  }

  @Test("The last step is repeated, and the script verifies once each step was used")
  func repeating() async throws {
    let transport = ScriptedTransport(repeatingLast: .respond(status: 503), .respond(status: 404))
    #expect(throws: ScriptViolation.self) { try transport.verify() }
    var statuses: [Int] = []
    for _ in 0..<4 { statuses.append(try await transport.execute(request("/")).head.status.code) }
    #expect(statuses == [503, 404, 404, 404] && transport.remainingSteps == 0)
    try transport.verify()
    transport.append(.respond(status: 200), .respond(status: 204))
    for _ in 0..<3 { statuses.append(try await transport.execute(request("/")).head.status.code) }
    #expect(statuses.suffix(3) == [200, 204, 204])
  }

  @Test("A closure gets the number of its request")
  func numbered() async throws {
    let transport = ScriptedTransport { (_, number) throws(TransportError) in
      TransferResponse(head: HTTPResponse(status: .init(code: 200 + number)), body: ResponseBody(Data()))
    }
    for number in 0..<3 {
      #expect(try await transport.execute(request("/")).head.status.code == 200 + number)
    }
    #expect(transport.requests.count == 3)
  }

  @Test("A handler answers requests that the script does not")
  func handler() async throws {
    let handler: ScriptedTransport.Handler = { request in
      TransferResponse(head: HTTPResponse(status: 200), body: ResponseBody(Data((request.head.path ?? "").utf8)))
    }
    let transport = ScriptedTransport([.respond(status: 500)], handler: handler)
    #expect(try await transport.execute(request("/a")).head.status == 500)
    #expect(try await transport.execute(request("/b")).body.bytes == Data("/b".utf8))
    transport.append(.perform(handler))
    #expect(try await transport.execute(request("/c")).body.bytes == Data("/c".utf8))
  }

  @Test("A test waits for requests, answered or not, and stops waiting when it is cancelled")
  func arrivals() async throws {
    let transport = ScriptedTransport([.respond(status: 200), .hang])
    let calls = ["/1", "/2"].map { path in Task { try await transport.execute(request(path)) } }
    #expect(Set(try await transport.waitForRequests(count: 2).compactMap(\.head.path)) == ["/1", "/2"])
    let third = Task { try await transport.waitForRequests(count: 3) }
    third.cancel()
    await #expect(throws: CancellationError.self) { try await third.value }
    for call in calls { call.cancel() }
  }

  @Test("A hang ends with the cancelled error")
  func hang() async throws {
    let transport = ScriptedTransport([.hang, .respond(status: 200)])
    let task = Task { try await transport.execute(request("/")) }
    try #require(await eventually { transport.runningRequests == 1 })
    task.cancel()
    let error = await #expect(throws: TransportError.self) { try await task.value }
    #expect(error?.code == .cancelled)
    #expect(error?.requestSent == true)
    let cancelled = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await transport.execute(request("/"))
    }
    let early = await #expect(throws: TransportError.self) { try await cancelled.value }
    #expect(early?.requestSent == false)
  }

  /// Executes a request while the clock advances, and returns its error; `nil` if it succeeds.
  private func answer(
    _ transport: any Transport, _ request: TransferRequest, _ clock: ManualClock
  ) async -> TransportError? {
    await clock.moving(by: .seconds(1)) {
      do throws(TransportError) {
        _ = try await transport.execute(request)
        return nil
      } catch {
        return error
      }
    }
  }

  @Test("Waiting steps end at the deadline of their request", arguments: ["hang", "step", "handler", "expected"])
  func deadline(waiting: String) async throws {
    let clock = ManualClock()
    let gate = AsyncStream.makeStream(of: Never.self)
    // A handler that ignores cancellation.
    let stubborn: ScriptedTransport.Handler = { _ in
      await Task { for await _ in gate.stream {} }.value
      return TransferResponse(head: HTTPResponse(status: 200), body: ResponseBody(Data()))
    }
    let steps: [ScriptedTransport.Step] =
      switch waiting {
      case "hang": [.hang]
      case "step": [.perform(stubborn)]
      case "expected": [.expect(then: .hang)]
      default: []
      }
    let transport = ScriptedTransport(steps, time: clock.timeSource, handler: stubborn)
    var request = request("/")
    request.deadline = .seconds(30)
    request.deadlineCode = .attemptTimeout
    let error = await answer(transport, request, clock)
    #expect(error?.stage == .timeout && error?.code == .attemptTimeout && error?.requestSent == true)
    #expect(clock.now >= .seconds(30) && transport.runningRequests == 0)
    gate.continuation.finish()
  }

  @Test("A hang ends at the idle timeout if that is shorter than the deadline", arguments: [nil, 30])
  func idle(deadline: Int?) async throws {
    let clock = ManualClock()
    let transport = ScriptedTransport([.hang], time: clock.timeSource)
    var request = request("/")
    request.idleTimeout = .seconds(5)
    request.deadline = deadline.map { .seconds($0) }
    let error = await answer(transport, request, clock)
    #expect(error?.words == "timeout/idle_timeout" && error?.requestSent == true)
    #expect(clock.now >= .seconds(5) && transport.runningRequests == 0)
  }

  @Test("A response before the deadline is returned, and a cancelled wait is cancelled")
  func beforeDeadline() async throws {
    let clock = ManualClock()
    let transport = ScriptedTransport([.hang], time: clock.timeSource) { _ in
      TransferResponse(head: HTTPResponse(status: 204), body: ResponseBody(Data()))
    }
    var request = request("/")
    request.deadline = .seconds(30)
    let task = Task { [request] in try await transport.execute(request) }
    try #require(await eventually { transport.runningRequests == 1 })
    task.cancel()
    let error = await #expect(throws: TransportError.self) { try await task.value }
    #expect(error?.code == .cancelled && error?.requestSent == true)
    #expect(try await transport.execute(request).head.status == 204)
    #expect(clock.now == .zero)
  }

  @Test("A stack's total timeout ends a hang")
  func totalTimeout() async throws {
    let clock = ManualClock()
    var configuration = StackConfiguration()
    configuration.timeSource = clock.timeSource
    let transport = ScriptedTransport([.hang], time: clock.timeSource)
    let stack = TransportNetworkStack(transport: transport, configuration: configuration)
    let task = Task {
      try await stack.fetch(RawHTTPResource.raw(ResourceRequest(method: .get, url: "https://h.com/")))
    }
    try #require(await eventually { transport.runningRequests == 1 })
    let isOver = await eventually {
      clock.advance(by: .seconds(1))
      return transport.runningRequests == 0
    }
    try #require(isOver)
    let error = await #expect(throws: HTTPFetchError<any Error>.self) { try await task.value }
    #expect(error?.code == .totalTimeout)
  }

  @Test("A replay's wait for a streamed body ends at the deadline")
  func replayDeadline() async throws {
    let clock = ManualClock()
    let entry = HAR.Entry(
      startedDateTime: "2001-09-09T01:46:42.000Z", time: 0,
      request: HAR.Request(method: "POST", url: "https://api.example/", postData: HAR.PostData(mimeType: "")),
      response: HAR.Response(status: 200), timings: HAR.Timings())
    let transport = HARReplayTransport(HAR(entries: [entry]), time: clock.timeSource)
    var request = request("/")
    request.head.method = .post
    request.deadline = .seconds(30)
    let gate = AsyncStream.makeStream(of: Data.self)
    request.body = .stream(gate.stream)
    let error = await answer(transport, request, clock)
    #expect(error?.stage == .timeout && error?.code == .totalTimeout)
    gate.continuation.finish()
  }

  @Test("Secrets in URLs are masked in errors and violations")
  func masked() async throws {
    let transport = ScriptedTransport([.expect(path: "/a", then: .hang)])
    var request = request("/PLANTED-1?token=PLANTED-2")
    request.secrets = ["PLANTED-1"]
    for code in [FailureCode.scriptMismatch, .scriptExhausted] {
      let error = await #expect(throws: TransportError.self) { try await transport.execute(request) }
      #expect(error?.code == code && error?.message.contains("PLANTED") == false)
      #expect(error?.message.contains("GET https://api.example/***?token=***") == true)
    }
    let violation = #expect(throws: ScriptViolation.self) { try transport.verify() }
    #expect(violation?.description.contains("PLANTED") == false)
    let replay = HARReplayTransport(HAR(entries: []))
    let error = await #expect(throws: TransportError.self) { try await replay.execute(request) }
    #expect(error?.message.contains("GET https://api.example/***?token=***") == true)
  }

  @Test("The limit of a body is enforced")
  func limit() async throws {
    let transport = ScriptedTransport([.respond(status: 200, body: "12345"), .respond(status: 200, body: "1234")])
    let error = await #expect(throws: TransportError.self) { try await transport.execute(request("/", limit: 4)) }
    #expect(error?.code == .bodyTooLarge)
    #expect(try await transport.execute(request("/", limit: 4)).body.bytes?.count == 4)
  }

  private func send(_ transport: ScriptedTransport, _ path: String) async -> TransportError? {
    do throws(TransportError) {
      _ = try await transport.execute(request(path))
      return nil
    } catch {
      return error
    }
  }

  @Test("A script that was followed verifies, with a handler whatever follows")
  func followed() async throws {
    let transport = ScriptedTransport([
      .expect(method: .get, path: "/1", then: .respond(status: 200)),
      .expect(path: "/2?x=y", then: .respond(status: 204)),
      .expect(then: .fail(TransportError(stage: .connect, code: .connectFailed, message: "no"))),
    ])
    #expect(await send(transport, "/1?any=query") == nil)
    #expect(await send(transport, "/2?x=y") == nil)
    #expect(await send(transport, "/3")?.code == .connectFailed)
    #expect(transport.unexpectedRequests.isEmpty)
    try transport.verify()
    let handled = ScriptedTransport { _ in TransferResponse(head: HTTPResponse(status: 200), body: ResponseBody(Data()))
    }
    #expect(await send(handled, "/") == nil)
    try handled.verify()
  }

  @Test("A request that differs from its step fails, and verify reports it even if the error was swallowed")
  func mismatch() async throws {
    let transport = ScriptedTransport([
      .expect(method: .post, path: "/payments", then: .respond(status: 201)),
      .expect(path: "/a?x=1", then: .respond(status: 200)),
      .expecting("a limit of 7", check: { $0.delivery.isCollected(7) }, then: .respond(status: 200)),
    ])
    let error = await send(transport, "/users")
    #expect(error?.stage == .request)
    #expect(error?.code == .scriptMismatch)
    #expect(error?.message == "step 1 expected POST /payments, but GET https://api.example/users came")
    #expect(error?.requestSent == false)
    #expect(await send(transport, "/a?x=2")?.code == .scriptMismatch)
    #expect(await send(transport, "/")?.message == "step 3 expected a limit of 7, but GET https://api.example/ came")
    let violation = #expect(throws: ScriptViolation.self) { try transport.verify() }
    #expect(violation?.mismatches.count == 3)
    #expect(violation?.unusedSteps == [])
    #expect(violation?.unexpectedRequests == [])
  }

  @Test("verify names unused steps and unexpected requests")
  func verification() async throws {
    let failure = TransportError(stage: .connect, code: .connectFailed, message: "no")
    let short = ScriptedTransport([.respond(status: 200)])
    #expect(await send(short, "/1") == nil)
    #expect(await send(short, "/2")?.code == .scriptExhausted)
    #expect(short.unexpectedRequests.map(\.head.path) == ["/2"])
    let tooMany = #expect(throws: ScriptViolation.self) { try short.verify() }
    #expect(
      tooMany?.description == "the script was not followed:\n  the script has no step for GET https://api.example/2")
    let long = ScriptedTransport([
      .respond(status: 200), .fail(failure), .hang, .expect(method: .put, path: "/x", then: .respond(status: 409)),
    ])
    #expect(await send(long, "/1") == nil)
    let unused = #expect(throws: ScriptViolation.self) { try long.verify() }
    #expect(
      unused?.unusedSteps == [
        "step 2: fail connect/connect_failed", "step 3: hang", "step 4: expect PUT /x, then respond 409",
      ])
    #expect(unused?.description.contains("\n  never asked for: step 3: hang\n") == true)
  }
}

extension TransferRequest.Delivery {
  fileprivate func isCollected(_ limit: Int) -> Bool {
    if case .collected(let maximum) = self { maximum == limit } else { false }
  }
}
