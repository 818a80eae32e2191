// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import HTTPTypes
import LastroSupport
import TestSupport
import Testing

@testable import Lastro

/// An engine whose transfers are recorded, each as a call of its own without retries and redirects.
struct RecordedEngine: LinkedEngine {
  let base: any LinkedEngine
  let recorder: CallRecorder

  var activeTransfers: Int { base.activeTransfers }

  func shutDown(cancelling: Bool) async { await base.shutDown(cancelling: cancelling) }

  func explain(_ request: TransferRequest) -> [(name: String, value: String)] { base.explain(request) }

  func execute(_ request: TransferRequest) async throws(TransportError) -> TransferResponse {
    let inner = Inner(base: base, request: request)
    var configuration = StackConfiguration.patient
    configuration.recorder = recorder
    configuration.maximumErrorBodyBytes = request.maximumErrorBytes ?? .max
    let stack = TransportNetworkStack(transport: inner, configuration: configuration)
    let resource = RawHTTPResource.raw(Self.resourceRequest(request))
    do throws(HTTPFetchError<any Error>) {
      if case .collected = request.delivery {
        _ = try await stack.fetch(resource)
      } else {
        let body = try await stack.stream(resource).value
        inner.answer.withLock { $0?.body = body }
      }
    } catch {
      if error.stage != .http { throw inner.error.withLock { $0 } ?? error.transportError ?? .cancelled() }
    }
    guard let answer = inner.answer.withLock({ $0 }) else { throw .cancelled() }
    return answer
  }

  /// Returns the request of a call that makes a transfer with the limits of `request`.
  private static func resourceRequest(_ request: TransferRequest) -> ResourceRequest {
    var result = request.resourceRequest
    var timeouts = Timeouts.standard
    (timeouts.connect, timeouts.idle) = (request.connectTimeout, request.idleTimeout)
    let isAttempt = request.deadlineCode == .attemptTimeout
    timeouts.attempt = isAttempt ? request.deadline : nil
    timeouts.total = isAttempt ? nil : request.deadline
    result.options.timeouts = timeouts
    result.options.redirects = RedirectPolicy.none
    result.options.idempotency = request.allowsResend ? .idempotent : .notIdempotent
    switch request.delivery {
    case .collected(let maximum): result.options.maximumBodyBytes = maximum
    case .streamed(let maximum), .streamedOnSuccess(let maximum, _): result.options.maximumBodyBytes = maximum
    }
    return result
  }

  /// Passes the request of the call to the engine, and keeps its result.
  private final class Inner: Transport {
    let base: any LinkedEngine
    let request: TransferRequest
    let answer = Lock<TransferResponse?>(nil)
    let error = Lock<TransportError?>(nil)

    init(base: any LinkedEngine, request: TransferRequest) { (self.base, self.request) = (base, request) }

    func execute(_ made: TransferRequest) async throws(TransportError) -> TransferResponse {
      var made = made
      made.allowsResend = request.allowsResend
      made.progress = request.progress
      do throws(TransportError) {
        let response = try await base.execute(made)
        answer.withLock { $0 = response }
        return response
      } catch {
        self.error.withLock { $0 = error }
        throw error
      }
    }
  }
}

/// A trait that records the calls of each case of a test, and replays them afterwards. The suite makes its engines with
/// ``LinkKind/current``, and its stacks with `StackConfiguration.replayed`.
struct Replayed: TestTrait, SuiteTrait, TestScoping {
  var isRecursive: Bool { true }

  func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
  ) async throws {
    guard testCase != nil, RecordedScenario.isOn else { return try await function() }
    try await RecordedScenario.run(function, named: test.id.description)
  }
}

extension Trait where Self == Replayed {
  /// Records the calls of each case, and asserts that their replays have the same ledgers.
  static var replayed: Self { Self() }
}

extension StackConfiguration {
  /// The configuration with the recorder of the running test case.
  var replayed: Self {
    var result = self
    result.recorder = RecordedScenario.recorder
    return result
  }
}

/// The calls that a test case makes while it is recorded, and their replays.
struct RecordedScenario {
  /// The recorder of the running test case; `nil` if it is not recorded.
  @TaskLocal static var recorder: CallRecorder?

  /// Whether test cases are recorded: whether `LASTRO_REPLAYS` names a file for the numbers of their calls.
  static var isOn: Bool { ProcessInfo.processInfo.environment["LASTRO_REPLAYS"] != nil }

  /// Runs a test case, replays its calls, and asserts that their ledgers are those that were recorded.
  ///
  /// The environment variable `LASTRO_REPLAYS` may name a file to which the numbers of the calls, and of the transfers that
  /// the engine performed again, are appended.
  static func run(_ body: () async throws -> Void, named name: String) async throws {
    let calls = try RecordedCalls(maximumBytes: 8 << 20, maximumTraces: 10_000)
    try await $recorder.withValue(calls.recorder) { try await body() }
    if let error = calls.recorder.writeError { Issue.record(error) }
    var (transfers, performed) = (0, 0)
    for file in calls.recorder.files {
      let text = try String(contentsOfFile: file, encoding: .utf8)
      let trace = try CallTrace(reading: text)
      let outcome = try await RecordedCalls.replay(text)
      #expect(outcome.ledger == trace.ledger)
      #expect(outcome.json == trace.ledgerJSON, "\(text.prefix(20_000))")
      transfers += outcome.transfers
      performed += outcome.engineTransfers
    }
    guard let log = ProcessInfo.processInfo.environment["LASTRO_REPLAYS"] else { return }
    let line = "\(calls.recorder.files.count) \(transfers) \(performed) \(name)\n"
    let file = try #require(fopen(log, "a"))
    fputs(line, file)
    fclose(file)
  }
}
