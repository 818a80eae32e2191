// SPDX-License-Identifier: Apache-2.0

extension ServerTrustEvaluator {
  /// The findings that make the check of a pinning configuration fail, for example in a test.
  public struct LintError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The findings, the most severe first.
    public let findings: [ServerTrustEvaluator.Finding]

    /// A heading, and one line for each finding.
    public var description: String {
      let count = findings.count == 1 ? "1 problem" : "\(findings.count) problems"
      return (["\(count) with the pinning configuration:"] + findings.map { "  \($0)" }).joined(separator: "\n")
    }
  }
}

extension [ServerTrustEvaluator.Finding] {
  /// Returns if there is no finding of at least the given severity.
  ///
  /// ```swift
  /// try configuration.lint(served: chains).check()
  /// ```
  ///
  /// - Parameters:
  ///   - severity: the lowest severity that makes the check fail. Default
  ///     ``ServerTrustEvaluator/Finding/Severity/warning``.
  ///   - ignoring: the kinds of findings to ignore, of any severity, such as `[.leafOnly]` if keys are never changed.
  ///     Default none.
  /// - Throws: ``ServerTrustEvaluator/LintError`` with the findings that make the check fail.
  public func check(
    atLeast severity: ServerTrustEvaluator.Finding.Severity = .warning,
    ignoring: Set<ServerTrustEvaluator.Finding.Code> = []
  ) throws(ServerTrustEvaluator.LintError) {
    let bad = filter { $0.severity >= severity && !ignoring.contains($0.code) }
    guard bad.isEmpty else { throw ServerTrustEvaluator.LintError(findings: bad.sorted { $0.severity > $1.severity }) }
  }
}
