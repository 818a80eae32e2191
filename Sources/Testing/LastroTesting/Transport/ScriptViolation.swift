// SPDX-License-Identifier: Apache-2.0

/// The differences between the requests to a ``ScriptedTransport`` and its script.
package struct ScriptViolation: Error, Sendable, Hashable, CustomStringConvertible {
  /// The steps that no request used, such as `step 3: respond 200`.
  package var unusedSteps: [String]
  /// The requests beyond the script, such as `GET https://api.example/users`; secrets in URLs are masked.
  package var unexpectedRequests: [String]
  /// The requests that did not match their step, such as
  /// `step 1 expected POST /payments, but GET https://api.example/users came`.
  package var mismatches: [String]

  /// All differences, one per line.
  package var description: String {
    (["the script was not followed:"] + mismatches + unexpectedRequests.map { "the script has no step for \($0)" }
      + unusedSteps.map { "never asked for: \($0)" })
      .joined(separator: "\n  ")
  }
}
