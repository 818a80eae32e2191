// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import LastroCurl
import LastroHTTP
import LastroTesting
import PeerSupport
import TestSupport
import Testing

/// A folder with the traces of calls, and their replays.
struct RecordedCalls {
  let directory: PeerDirectory
  let recorder: CallRecorder

  init(
    keeps scope: CallRecorder.Scope = .every, bodies: Bool = false, maximumBytes: Int = 1 << 20,
    maximumTraces: Int = 100
  ) throws {
    directory = try PeerDirectory()
    recorder = try CallRecorder(
      directory: directory.path, keeps: scope, bodies: bodies, maximumBytes: maximumBytes, maximumTraces: maximumTraces)
  }

  /// Returns a stack whose calls are recorded.
  func stack(
    _ interceptors: [any HTTPResourceInterceptor] = [], _ edit: (inout CurlConfiguration) -> Void = { _ in },
    adapting adapt: (inout StackConfiguration) -> Void = { _ in }
  ) throws -> CurlNetworkStack {
    var configuration = StackConfiguration.patient
    configuration.interceptors = interceptors
    configuration.recorder = recorder
    adapt(&configuration)
    return try .direct(edit, configuration: configuration)
  }

  /// The text of the latest trace.
  func text() throws -> String {
    if let error = recorder.writeError { throw error }
    return try String(contentsOfFile: try #require(recorder.files.last), encoding: .utf8)
  }

  /// Replays the latest trace.
  func replay(_ variation: ReplayVariation = ReplayVariation()) async throws -> CallReplay.Outcome {
    try await Self.replay(text(), variation)
  }

  static func replay(
    _ text: String, _ variation: ReplayVariation = ReplayVariation(),
    report: @escaping @Sendable (String) -> Void = { _ in }
  ) async throws -> CallReplay.Outcome {
    let trace = try CallTrace(reading: text)
    let replay = CallReplay(trace, variation, report: report) { ReplayEngine(trace, $0, report: report) }
    return await replay.run()
  }

  /// Replays a trace, by default the latest one, and asserts that its ledger is that of the recorded call.
  ///
  /// - Parameter onEngine: whether the engine must perform all transfers.
  func expectEqualReplay(
    of trace: String? = nil, onEngine: Bool = true, sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let text = try trace ?? text()
    let outcome = try await Self.replay(text)
    let recorded = try CallTrace(reading: text)
    #expect(outcome.ledger == recorded.ledger, sourceLocation: sourceLocation)
    #expect(outcome.json == recorded.ledgerJSON, sourceLocation: sourceLocation)
    #expect(outcome.isEqual, sourceLocation: sourceLocation)
    if onEngine {
      #expect(
        outcome.engineTransfers == outcome.transfers, "the engine reads the recorded bytes",
        sourceLocation: sourceLocation)
    }
  }
}
