// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import LastroTesting
import TestSupport
import Testing

@testable import Lastro

@Suite("Progress of transfers", .timeLimit(.minutes(15)))
struct TransferProgressTests {
  private let reporter = TransferProgressReporter()
  private let clock = ManualClock(autoAdvance: true)

  private func options() -> RequestOptions {
    var options = RequestOptions()
    options.progress = reporter
    return options
  }

  private func stack(_ steps: ScriptedTransport.Step..., observers: [any FetchObserver] = []) -> TransportNetworkStack {
    .observed(ScriptedTransport(steps), clock: clock, interceptors: [AlwaysRetry()]) {
      $0.maximumAttempts = 2
      $0.observers = observers
    }
  }

  /// Returns the steps that a reader sees who starts after the end.
  private func rest() async -> [TransferProgress] {
    var seen: [TransferProgress] = []
    for await step in reporter.updates { seen.append(step) }
    return seen
  }

  @Test("A slow reader sees the latest progress, and the last")
  func aSlowReaderSeesTheNewestStepAndTheLast() async {
    let transfer = reporter.beginTransfer(totalBytesToSend: 10)
    for count in 1...10 { transfer.report(sent: Int64(count)) }
    transfer.report(received: 3, of: 4)
    let step = TransferProgress(bytesSent: 10, totalBytesToSend: 10, bytesReceived: 3, totalBytesToReceive: 4)
    #expect(reporter.current == step)
    reporter.finish()
    #expect(await rest() == [step])
  }

  @Test("The fractions are from 0 to 1, and nil without a length")
  func fractions() {
    let none = TransferProgress(bytesSent: 5, bytesReceived: 5)
    #expect(none.fractionSent == nil && none.fractionReceived == nil)
    let half = TransferProgress(bytesSent: 5, totalBytesToSend: 10, bytesReceived: 1, totalBytesToReceive: 4)
    #expect(half.fractionSent == 0.5 && half.fractionReceived == 0.25)
    let empty = TransferProgress(totalBytesToSend: 0, totalBytesToReceive: 0)
    #expect(empty.fractionSent == 1 && empty.fractionReceived == 1)
    // A server may send more than it announced.
    let more = TransferProgress(bytesSent: 0, totalBytesToSend: 3, bytesReceived: 9, totalBytesToReceive: 4)
    #expect(more.fractionSent == 0 && more.fractionReceived == 1)
  }

  @Test("A new transfer starts again, and the old one no longer reports")
  func aNewTransferBeginsAgainAndTheOldOneIsNotHeard() {
    let first = reporter.beginTransfer(totalBytesToSend: 10)
    first.report(sent: 7)
    let second = reporter.beginTransfer(totalBytesToSend: nil)
    #expect(reporter.current == TransferProgress())
    first.report(sent: 8)
    first.report(received: 9, of: 9)
    #expect(reporter.current == TransferProgress())
    second.report(sent: 1)
    #expect(reporter.current == TransferProgress(bytesSent: 1))
    reporter.finish()
    second.report(sent: 2)
    _ = reporter.beginTransfer(totalBytesToSend: 5)
    #expect(reporter.current == TransferProgress(bytesSent: 1))
  }

  @Test("Every request on the wire starts a new count")
  func everyRequestOnTheWireCountsAnew() async throws {
    let steps = EventRecorder<TransferProgress>()
    let step = ScriptedTransport.Step.perform { [reporter] request throws(TransportError) in
      let index = steps.record(reporter.current)
      request.progress?.report(sent: 5)
      request.progress?.report(received: 2, of: 2)
      return index == 0 ? .answer(307, fields: [.location: "/b"]) : .answer(index == 1 ? 503 : 200, body: "ok")
    }
    _ = try await stack(step, step, step).fetch(.test(.put, body: .raw("12345"), options: options()))
    #expect(steps.events == Array(repeating: TransferProgress(totalBytesToSend: 5), count: 3))
    let end = TransferProgress(bytesSent: 5, totalBytesToSend: 5, bytesReceived: 2, totalBytesToReceive: 2)
    #expect(await rest() == [end])
  }

  @Test("A scripted transport reports progress")
  func aScriptReportsToo() async throws {
    _ = try await stack(.respond(status: 200, body: "abc")).fetch(.test(.put, body: .raw("12"), options: options()))
    let end = TransferProgress(bytesSent: 2, totalBytesToSend: 2, bytesReceived: 3, totalBytesToReceive: 3)
    #expect(await rest() == [end])
  }

  @Test("The resource's options take precedence over the request's")
  func theOptionsOfTheResourceHaveThePrecedence() async throws {
    var resource = try RawHTTPResource.test(options: RequestOptions())
    resource.options.progress = reporter
    _ = try await stack(.respond(status: 200, body: "abc")).fetch(resource)
    #expect(reporter.current.bytesReceived == 3)
  }

  @Test("A request without a progress reporter carries none")
  func nobodyIsToldWhereNobodyAsks() async throws {
    let transport = ScriptedTransport([.respond(status: 200)])
    _ = try await TransportNetworkStack.observed(transport).fetch(.test())
    #expect(transport.requests.map { $0.progress == nil } == [true])
  }

  @Test("A failure ends the updates")
  func aFailureEndsTheUpdates() async throws {
    await #expect(throws: (any Error).self) {
      _ = try await stack(.respond(status: 500), .fail(.connect, .connectFailed)).fetch(.test(options: options()))
    }
    #expect(await rest().count == 1)
  }

  @Test("A refused request ends the updates")
  func aRequestThatIsRefusedEndsTheUpdates() async throws {
    var options = options()
    options.maximumBodyBytes = -1
    let resource = try RawHTTPResource.test(options: options)
    await #expect(throws: (any Error).self) { _ = try await stack().fetch(resource) }
    #expect(await rest() == [])
  }

  @Test("Cancellation ends the updates")
  func cancellationEndsTheUpdates() async throws {
    let stack = stack(.hang)
    let resource = try RawHTTPResource.test(options: options())
    let task = Task { try await stack.fetch(resource) }
    var steps = 0
    for await _ in reporter.updates {
      steps += 1
      task.cancel()
    }
    #expect(steps == 1)
    await #expect(throws: (any Error).self) { _ = try await task.value }
  }

  @Test(
    "A stream ends the updates with its body, read or dropped",
    arguments: [true, false], [true, false])
  func aStreamEndsTheUpdatesWithItsBody(isRead: Bool, isObserved: Bool) async throws {
    let stack = stack(.stream(["abc", "d"]), observers: isObserved ? [EventGrammar()] : [])
    do {
      let body = try await stack.stream(.test(options: options())).value
      // The transfer has not ended, so the reporter still accepts new values.
      _ = reporter.beginTransfer(totalBytesToSend: 42)
      #expect(reporter.current.totalBytesToSend == 42)
      if isRead { for try await _ in body {} }
    }
    #expect(await rest().count == 1)
  }
}
