// SPDX-License-Identifier: Apache-2.0

/// An explanation of what a fetch would do, made without a network. Its ``description`` is a page for people.
package struct FetchExplanation: Sendable, Encodable {
  /// An interceptor of the fetch.
  package struct Interceptor: Sendable, Encodable {
    /// The name of the interceptor's type.
    package var name: String
    /// The description of its effects, if it provides one (``ExplainableInterceptor``).
    package var explanation: String?
    /// The origins to which its credentials may be sent after a redirect.
    package var credentialOrigins: [String]
  }

  /// The consequence of a failure of a first attempt.
  package struct RetryVerdict: Sendable, Encodable {
    /// The failure, such as `status 503`.
    package var failure: String
    /// Whether there would be another attempt.
    package var isRetried: Bool
    /// The time of the next attempt, or the reason why there would be none.
    package var reason: String
    /// The interceptors that cannot decide beforehand. They may change the outcome.
    package var undecided: [String]
  }

  /// A fact, such as `proxy` and its URL.
  package struct Fact: Sendable, Hashable, Encodable {
    /// The name of the fact.
    package var name: String
    /// The value of the fact.
    package var value: String

    /// Makes a fact. It must contain no secret.
    package init(_ name: String, _ value: String) {
      self.name = name
      self.value = value
    }
  }

  /// The method and URL as far as they are known beforehand, without the values of the query; `nil` if no request could
  /// be made.
  package var request: String?
  /// The reason why no request could be made, or why the request would be refused.
  package var refusal: String?
  /// The operation's name (``RequestOptions/operation``).
  package var operation: String?
  /// Whether the request may be sent more than once, and the reason.
  package var idempotency: String
  /// The interceptors, in the order in which they are asked.
  package var interceptors: [Interceptor]
  /// The signers for the request's origin, which run after the interceptors.
  package var signers: [String]
  /// The timeouts that apply.
  package var timeouts: [Fact]
  /// The limits on redirects, sizes, attempts, delays and quota.
  package var limits: [Fact]
  /// The consequences of each kind of failure.
  package var retries: [RetryVerdict]
  /// The transport's facts: proxy, trust, versions and connections.
  package var transport: [Fact]
}

extension FetchExplanation: CustomStringConvertible {
  /// The explanation as a page of text.
  package var description: String {
    var lines = [(request ?? "no request") + (operation.map { " [\($0)]" } ?? "")]
    if let refusal { lines.append("  refused: \(refusal)") }
    lines.append("  idempotent: \(idempotency)")
    lines.append(interceptors.isEmpty ? "interceptors: none" : "interceptors, in order:")
    for (index, interceptor) in interceptors.enumerated() {
      var line = "  \(index + 1). \(interceptor.name)"
      if let explanation = interceptor.explanation { line += ": \(explanation)" }
      if !interceptor.credentialOrigins.isEmpty {
        line += "; credentials for \(interceptor.credentialOrigins.joined(separator: ", "))"
      }
      lines.append(line)
    }
    if !signers.isEmpty { lines.append("signed by: \(signers.joined(separator: ", "))") }
    for (title, facts) in [("timeouts", timeouts), ("limits", limits), ("transport", transport)] where !facts.isEmpty {
      lines.append("\(title):")
      lines += facts.map { "  \($0.name): \($0.value)" }
    }
    lines.append("after a first attempt that ends with:")
    let width = retries.map(\.failure.count).max() ?? 0
    for verdict in retries {
      let gap = String(repeating: " ", count: width - verdict.failure.count)
      let asks =
        verdict.undecided.isEmpty ? "" : "; unless \(verdict.undecided.joined(separator: ", ")) decides otherwise"
      lines.append("  \(verdict.failure)\(gap)  \(verdict.isRetried ? "retry" : "end"): \(verdict.reason)\(asks)")
    }
    return lines.joined(separator: "\n")
  }
}
