// SPDX-License-Identifier: Apache-2.0

/// What a fetch would do, worked out without a network: ``description`` is a page for people.
public struct FetchExplanation: Sendable, Encodable {
  /// An interceptor, in the order in which all are asked.
  public struct Interceptor: Sendable, Encodable {
    /// The name of the interceptor's type.
    public var name: String
    /// What it does, where it says so (``ExplainableInterceptor``).
    public var explanation: String?
    /// Origins to which its credentials may go after a redirect.
    public var credentialOrigins: [String]
  }

  /// What would become of a first attempt that ended in a certain way.
  public struct RetryVerdict: Sendable, Encodable {
    /// The failure, such as `status 503`.
    public var failure: String
    /// Whether there would be another attempt.
    public var isRetried: Bool
    /// When, or why not.
    public var reason: String
    /// Interceptors that do not say beforehand, and may decide otherwise.
    public var undecided: [String]
  }

  /// Something said by the transport, such as `proxy` and its URL.
  public struct Fact: Sendable, Hashable, Encodable {
    /// What it is about.
    public var name: String
    /// What is the case.
    public var value: String

    /// Makes a fact. It must hold no secret.
    public init(_ name: String, _ value: String) {
      self.name = name
      self.value = value
    }
  }

  /// Method and URL as far as they are known beforehand, without the values of the query; `nil` when no request could
  /// be made.
  public var request: String?
  /// Why none could be made, or why it would be refused.
  public var refusal: String?
  /// ``RequestOptions/operation``.
  public var operation: String?
  /// Whether it may be sent more than once, and why.
  public var idempotency: String
  /// In the order of asking.
  public var interceptors: [Interceptor]
  /// Signers for the request's origin, after the interceptors.
  public var signers: [String]
  /// The limits in time that hold.
  public var timeouts: [Fact]
  /// Redirects, sizes, attempts, waits, quota.
  public var limits: [Fact]
  /// For each kind of failure.
  public var retries: [RetryVerdict]
  /// Proxy, trust, versions, connections.
  public var transport: [Fact]
}

extension FetchExplanation: CustomStringConvertible {
  /// A page of text.
  public var description: String {
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
