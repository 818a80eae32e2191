// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import LastroSupport
import LastroTesting
import TestSupport
import Testing

@testable import LastroEveryday

@Suite("Long-running operations", .timeLimit(.minutes(15)))
struct OperationTests {
  private static let url = "https://api.example.org/reports"

  private func start(
    _ status: Int, _ fields: [String: String], method: HTTPRequest.Method = .post, origins: Set<Origin> = []
  ) async throws -> (handle: OperationHandle?, answer: Fetched<Data, ResourceResponse>) {
    var fieldList = HTTPFields()
    for (name, value) in fields { fieldList[try #require(HTTPField.Name(name))] = value }
    let transport = ScriptedTransport([.answer(status, fields: fieldList, body: "body")])
    let resource = HTTPResource<Data, any Error>.send(method, Self.url)
    return try await TransportNetworkStack(transport).startOperation(resource, origins: origins)
  }

  @Test(
    "The status URL comes from the server's fields, and the result's URL from fields and method",
    arguments: [
      (["Location": "/operations/1"], HTTPRequest.Method.post, "/operations/1", nil),
      (["Operation-Location": "/o/1", "Location": "/r/1"], .post, "/o/1", "/r/1"),
      (["Azure-AsyncOperation": "/o/1", "Location": "/r/1"], .post, "/o/1", "/r/1"),
      (["Azure-AsyncOperation": "/o/1"], .post, "/o/1", nil),
      (["Azure-AsyncOperation": "/o/1"], .put, "/o/1", "/reports"),
      (["Operation-Location": "/o/1", "Azure-AsyncOperation": "/o/2", "Location": "/r"], .patch, "/o/1", "/reports"),
      (["Location": "https://api.example.org/o"], .delete, "/o", nil),
    ] as [([String: String], HTTPRequest.Method, String, String?)])
  func handles(fields: [String: String], method: HTTPRequest.Method, status: String, result: String?) async throws {
    for code in [202, 201] where code == 202 || fields.count > 1 {
      guard let handle = try await start(code, fields, method: method).handle else {
        Issue.record("no handle was returned")
        return
      }
      #expect(handle.statusURL == "https://api.example.org\(status)")
      #expect(handle.resultURL == result.map { "https://api.example.org\($0)" })
      let kept = try JSONDecoder().decode(OperationHandle.self, from: JSONEncoder().encode(handle))
      #expect(kept == handle)
    }
  }

  @Test("A response that is the result is returned as it is")
  func atOnce() async throws {
    for (code, fields) in [
      (200, [:]), (201, ["Location": "/reports/1"]), (201, ["Location": "https://other.example.org/1"]),
      (204, ["Operation-Location": "/o"]),
    ] {
      let (handle, answer) = try await start(code, fields)
      #expect(handle == nil, "\(code) returned a handle")
      #expect(answer.response.status.code == code && answer.value == Data((code == 204 ? "" : "body").utf8))
    }
  }

  @Test(
    "An operation at another origin is not queried, and a 202 without one is an error",
    arguments: [
      (["Location": "https://evil.example.org/"], "response/foreign_operation"),
      (["Location": "http://api.example.org/"], "response/foreign_operation"),
      (["Operation-Location": "/o", "Location": "https://evil.example.org/"], "response/foreign_operation"),
      (["Location": "ftp://x"], "response/invalid_url"), ([:], "response/no_operation"),
    ])
  func refused(fields: [String: String], failure: String) async throws {
    let error = await #expect(throws: HTTPFetchError<any Error>.self) { try await start(202, fields) }
    #expect(error?.words == failure && error?.attempts.count == 1)
    #expect(error?.response?.status == .accepted && error?.body == Data("body".utf8))
    guard case .transport(let refusal)? = error?.reason else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(refusal.requestSent)
  }

  @Test("The result of a PUT redirected to an undeclared origin is refused")
  func redirected() async throws {
    let name = try #require(HTTPField.Name("Azure-AsyncOperation"))
    let steps: [ScriptedTransport.Step] = [
      .redirect(307, to: "https://other.example.org/"), .answer(202, fields: [name: "https://api.example.org/o"]),
    ]
    let stack = TransportNetworkStack(ScriptedTransport(steps + steps))
    let resource = HTTPResource<Data, any Error>.send(.put, Self.url)
    let error = await #expect(throws: HTTPFetchError<any Error>.self) { try await stack.startOperation(resource) }
    #expect(error?.words == "response/foreign_operation")
    let origins: Set<Origin> = [try Origin("https://other.example.org")]
    guard let handle = try await stack.startOperation(resource, origins: origins).handle else {
      Issue.record("no handle was returned")
      return
    }
    #expect(handle.resultURL == "https://other.example.org/")
  }

  @Test("A declared origin is queried, except http below https")
  func declared() async throws {
    let origins: Set<Origin> = [try Origin("https://jobs.example.org"), try Origin("http://jobs.example.org")]
    #expect(try await start(202, ["Location": "https://jobs.example.org/1"], origins: origins).handle != nil)
    await #expect(throws: HTTPFetchError<any Error>.self) {
      try await start(202, ["Location": "http://jobs.example.org/1"], origins: origins)
    }
  }

  @Test("Prefer asks for a 202, beside the request's own preferences")
  func prefers() async throws {
    let transport = ScriptedTransport(repeatingLast: .answer(200))
    let resource = HTTPResource<Data, any Error>.send(.post, Self.url, headers: ["Prefer": "return=minimal"])
    for prefersAsync in [false, true] {
      _ = try await TransportNetworkStack(transport).startOperation(resource, prefersAsync: prefersAsync)
    }
    let sent = transport.requests.map { $0.head.headerFields.filter { $0.name.canonicalName == "prefer" }.map(\.value) }
    #expect(sent == [["return=minimal"], ["return=minimal", "respond-async"]])
  }

  /// Waits for an operation with scripted responses, and returns its result. The body of a response is `running`,
  /// `failed`, the seconds to wait, or the result.
  private func wait(
    _ steps: [ScriptedTransport.Step], _ clock: ManualClock, total: Duration? = nil, firstWait: Int64? = nil,
    acceptedAt: Duration? = nil
  ) async throws -> String {
    let transport = ScriptedTransport(steps, time: clock.timeSource)
    let stack = TransportNetworkStack(transport, time: clock.timeSource) {
      $0.randomSource = RandomSource { 1 << 63 }
    }
    let handle = OperationHandle(statusURL: "https://api.example.org/o", firstWait: firstWait, acceptedAt: acceptedAt)
    return try await stack.wait(for: handle, total: total) { body, _, wait in
      let text = String(decoding: body, as: UTF8.self)
      switch text {
      case "running": return nil
      case "failed": throw TestError(name: "broke")
      default:
        guard let seconds = Int(text) else { return text }
        wait = .seconds(seconds)
        return nil
      }
    }
  }

  @Test("Waits grow by half up to their limit, with a jitter of a tenth")
  func growing() async throws {
    let clock = ManualClock(autoAdvance: true)
    let steps = Array(repeating: ScriptedTransport.Step.answer(200, body: "running"), count: 11)
    #expect(try await wait(steps + [.answer(200, body: "done")], clock) == "done")
    let waits = clock.sleeps.map { ($0.inSeconds * 1000).rounded() / 1000 }
    #expect(waits == [1, 1.5, 2.25, 3.375, 5.063, 7.594, 11.391, 17.086, 25.629, 30, 30])
    var configuration = StackConfiguration()
    configuration.timeSource = clock.timeSource
    configuration.randomSource = RandomSource { 0 }
    var spread = OperationPolling(OperationHandle(statusURL: "https://a.test/"), configuration)
    spread.note(nil, ResourceResponse(head: HTTPResponse(status: .ok), url: ""))
    try await spread.pause()
    #expect(clock.sleeps.last == .seconds(0.9))
  }

  @Test("The closure's wait precedes the server's, and that the default, both up to the maximum")
  func asked() async throws {
    let clock = ManualClock(autoAdvance: true)
    let steps: [ScriptedTransport.Step] = [
      .respond(status: .ok, headers: [.retryAfter: "7"], body: "running"),
      .respond(status: .ok, headers: [.retryAfter: "7"], body: "3"),
      .respond(status: .ok, headers: [.retryAfter: "7000"], body: "running"), .answer(200, body: "9000"),
      .answer(200, body: "running"), .answer(200, body: "done"),
    ]
    #expect(try await wait(steps, clock, firstWait: 4) == "done")
    #expect(clock.sleeps == [.seconds(4), .seconds(7), .seconds(3), .seconds(300), .seconds(300), .seconds(1)])
  }

  @Test("The closure's error is thrown, and so is that of a poll")
  func failed() async throws {
    await #expect(throws: TestError(name: "broke")) { try await wait([.answer(200, body: "failed")], ManualClock()) }
    await #expect(throws: HTTPFetchError<any Error>.self) { try await wait([.answer(500)], ManualClock()) }
  }

  @Test("A 404 is tolerated for two seconds, and no longer")
  func grace() async throws {
    let clock = ManualClock(autoAdvance: true)
    #expect(try await wait([.answer(404), .answer(404), .answer(200, body: "done")], clock) == "done")
    let late = await #expect(throws: HTTPFetchError<any Error>.self) {
      try await wait([.answer(404), .answer(404), .answer(404)], ManualClock(autoAdvance: true))
    }
    #expect(late?.statusCode == .notFound)
  }

  @Test("Both tolerances start when the operation was accepted, as far as that is known")
  func age() async throws {
    let clock = ManualClock(autoAdvance: true)
    guard let handle = try await start(202, ["Location": "/o"]).handle else {
      Issue.record("no handle was returned")
      return
    }
    #expect(handle.acceptedAt == ManualClock.epoch)
    let before = ManualClock.epoch - .seconds(3)
    let late = await #expect(throws: HTTPFetchError<any Error>.self) {
      try await wait([.answer(404)], ManualClock(autoAdvance: true), acceptedAt: before)
    }
    #expect(late?.statusCode == .notFound)
    #expect(try await wait([.answer(200, body: "done")], clock, firstWait: 5, acceptedAt: before) == "done")
    #expect(clock.sleeps == [.seconds(2)])
    for far in [Int64.min, .max] {
      let date = Duration(secondsComponent: far, attosecondsComponent: 0)
      let steps: [ScriptedTransport.Step] =
        far < 0 ? [.answer(200, body: "done")] : [.answer(404), .answer(200, body: "done")]
      #expect(try await wait(steps, clock, acceptedAt: date) == "done")
    }
  }

  @Test("A redirect leads to the result")
  func seeOther() async throws {
    let steps: [ScriptedTransport.Step] = [.redirect(303, to: "/result"), .answer(200, body: "the result")]
    #expect(try await wait(steps, ManualClock()) == "the result")
  }

  @Test("The time limit ends the wait before one that would exceed it")
  func total() async throws {
    let clock = ManualClock(autoAdvance: true)
    let error = await #expect(throws: HTTPFetchError<any Error>.self) {
      try await wait([.answer(200, body: "3"), .answer(200, body: "2")], clock, total: .seconds(5))
    }
    #expect(error?.words == "timeout/total_timeout" && clock.now == .seconds(3))
  }

  @Test("The time limit ends a query that stalls")
  func stalled() async throws {
    let clock = ManualClock()
    let transport = ScriptedTransport([.hang], time: clock.timeSource)
    let stack = TransportNetworkStack(transport, time: clock.timeSource)
    let handle = OperationHandle(statusURL: "https://api.example.org/o")
    let task = Task {
      try await stack.wait(for: handle, total: .seconds(5)) { _, _, _ in Int?.none }
    }
    #expect(await eventually { transport.runningRequests == 1 && clock.nextLimit == .seconds(5) })
    clock.advance(by: .seconds(5))
    let error = await #expect(throws: HTTPFetchError<any Error>.self) { try await task.value }
    #expect(error?.words == "timeout/total_timeout")
    #expect(await eventually { transport.runningRequests == 0 })
  }

  @Test("Cancelling ends a wait with the cancelled error")
  func cancelled() async throws {
    let clock = ManualClock()
    let task = Task { try await wait([.answer(200, body: "60")], clock) }
    try await clock.waitForSleepers(count: 1)
    task.cancel()
    let error = await #expect(throws: HTTPFetchError<any Error>.self) { try await task.value }
    #expect(error?.isCancelled == true)
  }
}
