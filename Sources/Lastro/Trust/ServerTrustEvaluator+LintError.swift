// SPDX-License-Identifier: Apache-2.0

extension ServerTrustEvaluator {
  /// What is wrong with a pinning configuration: what a test that checks one fails with.
  public struct LintError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What was found, the worst first.
    public let findings: [ServerTrustEvaluator.Finding]

    /// One line for each.
    public var description: String {
      let count = findings.count == 1 ? "1 problem" : "\(findings.count) problems"
      return (["\(count) with the pinning configuration:"] + findings.map { "  \($0)" }).joined(separator: "\n")
    }
  }
}

extension [ServerTrustEvaluator.Finding] {
  /// Passes when nothing that bad was found.
  ///
  /// ```swift
  /// try configuration.lint(served: chains).check()
  /// ```
  ///
  /// - Parameters:
  ///   - severity: the least that counts. Default ``ServerTrustEvaluator/Finding/Severity/warning``.
  ///   - ignoring: what does not count, however bad: such as `[.leafOnly]` where keys are kept for good. Default
  ///     nothing.
  /// - Throws: ``ServerTrustEvaluator/LintError`` with those that do.
  public func check(
    atLeast severity: ServerTrustEvaluator.Finding.Severity = .warning,
    ignoring: Set<ServerTrustEvaluator.Finding.Code> = []
  ) throws(ServerTrustEvaluator.LintError) {
    let bad = filter { $0.severity >= severity && !ignoring.contains($0.code) }
    guard bad.isEmpty else { throw ServerTrustEvaluator.LintError(findings: bad.sorted { $0.severity > $1.severity }) }
  }
}
