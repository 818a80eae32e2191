// SPDX-License-Identifier: Apache-2.0

/// How what a ``ScriptedTransport`` was asked differs from its script.
public struct ScriptViolation: Error, Sendable, Hashable, CustomStringConvertible {
  /// The steps that no request asked for, such as `step 3: respond 200`.
  public var unusedSteps: [String]
  /// The requests beyond the script, such as `GET https://api.example/users`; secrets in URLs are masked.
  public var unexpectedRequests: [String]
  /// The requests that were not what their step expected, such as
  /// `step 1 expected POST /payments, but GET https://api.example/users came`.
  public var mismatches: [String]

  /// All of it, a line each.
  public var description: String {
    (["the script was not followed:"] + mismatches + unexpectedRequests.map { "the script has no step for \($0)" }
      + unusedSteps.map { "never asked for: \($0)" })
      .joined(separator: "\n  ")
  }
}
