// SPDX-License-Identifier: Apache-2.0

import Testing

/// A trait that runs each case of a test over each kind of link, at the same time. The test makes its engines with
/// ``LinkKind/current``, and its stacks with `StackConfiguration.replayed`. An issue names the link.
///
/// Some cases run once more over sockets: their calls are recorded and replayed (``RecordedScenario``).
struct OverEachLink: TestTrait, SuiteTrait, TestScoping {
  let links: [LinkKind]

  var isRecursive: Bool { true }

  func scopeProvider(for test: Test, testCase: Test.Case?) -> Self? {
    test.isSuite || testCase != nil ? self : nil
  }

  func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
  ) async throws {
    guard testCase != nil else {
      try await function()
      return try ReplayPage.check(suite: test)
    }
    let isRecorded = RecordedScenario.isChosen(test)
    async let overSockets: Void = run(over: .socket, test, testCase, function)
    async let overStreams: Void = links.contains(.stream) ? run(over: .stream, test, testCase, function) : ()
    async let recorded: Void =
      isRecorded
      ? run(over: .socket, test, testCase) { try await RecordedScenario.run(function, of: test) } : ()
    _ = try await (overSockets, overStreams, recorded)
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
        // An error that is thrown would cancel the other runs.
        do { try await function() } catch is ExpectationFailedError {} catch { Issue.record(error) }
      }
    }
  }
}

extension Trait where Self == OverEachLink {
  /// Runs each case over sockets and over streams, and replays recorded calls of some.
  static var overEachLink: Self { Self(links: [.socket, .stream]) }

  /// Runs each case over sockets, and replays recorded calls of some.
  static var replayed: Self { Self(links: [.socket]) }
}
