// SPDX-License-Identifier: Apache-2.0

import Testing

/// A trait that runs each case of a test once over sockets and once over streams, at the same time. The test makes its
/// engines with ``LinkKind/current``. An issue names the link.
///
/// With `LASTRO_REPLAYS`, a third run over sockets records the transfers, and replays them after the case.
struct OverEachLink: TestTrait, SuiteTrait, TestScoping {
  var isRecursive: Bool { true }

  func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
  ) async throws {
    guard testCase != nil else { return try await function() }
    async let overSockets: Void = run(over: .socket, test, testCase, function)
    async let overStreams: Void = run(over: .stream, test, testCase, function)
    _ = try await (overSockets, overStreams)
    guard RecordedScenario.isOn else { return }
    try await run(over: .socket, test, testCase) {
      try await RecordedScenario.run(function, named: test.id.description)
    }
  }

  private func run(
    over links: LinkKind, _ test: Test, _ testCase: Test.Case?,
    _ function: @concurrent @Sendable () async throws -> Void
  ) async throws {
    let naming = IssueHandlingTrait.compactMapIssues { issue in
      var issue = issue
      issue.comments.append("over the link \(links)")
      return issue
    }
    try await LinkKind.$current.withValue(links) {
      try await naming.provideScope(for: test, testCase: testCase) {
        // An error that is thrown would cancel the other run.
        do { try await function() } catch is ExpectationFailedError {} catch { Issue.record(error) }
      }
    }
  }
}

extension Trait where Self == OverEachLink {
  /// Runs each case over sockets and over streams.
  static var overEachLink: Self { Self() }
}
