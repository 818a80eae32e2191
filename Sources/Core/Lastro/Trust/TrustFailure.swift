// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

/// The refusal of a server that ordinary validation accepted. It has all details needed to find the cause, and to
/// correct the configuration if that is at fault.
public struct TrustFailure: Error, Sendable, Hashable {
  /// The reason of a refusal. Later versions may add reasons: a `switch` needs an `@unknown default`.
  @nonexhaustive
  public enum Reason: Sendable, Hashable {
    /// None of the keys of the verified chain is pinned.
    case noPinMatches
    /// The policy has expired, and refuses servers after its expiration.
    case policyExpired(Date)
    /// The host has no policy, and hosts without a policy are refused.
    case hostNotPinned
    /// The request uses plain `http`, but the host's key is pinned.
    case plaintext
    /// The connection has no chain that was verified in its own handshake, so there is nothing to judge.
    case unproven
    /// The certificate does not prove the SPIFFE ID that ``TLSOptions/peer`` requires. The text names that ID and those
    /// that the certificate shows.
    case wrongSPIFFEID(String)
    /// A custom judge refused the server, for the reason in the text.
    case refused(String)
  }

  /// The reason why the server was refused.
  public var reason: Reason
  /// The server or proxy, with the certificates that it presented.
  public var trust: ServerTrust
  /// The policy that was applied; `nil` if there is none.
  public var policy: PinningPolicy?

  /// Creates a failure.
  public init(_ reason: Reason, trust: ServerTrust, policy: PinningPolicy? = nil) {
    self.reason = reason
    self.trust = trust
    self.policy = policy
  }
}

extension TrustFailure {
  /// A sentence with the server, the policy and the reason.
  public var message: String { sentence("was refused") }

  private func sentence(_ verb: String) -> String {
    let name = policy.map { "the pinning policy for \($0.scope)" }
    switch reason {
    case .noPinMatches:
      let keys =
        trust.chain.count == 1
        ? "the key of its verified chain is not" : "none of the \(trust.chain.count) keys of its verified chain is"
      return "\(server) \(verb): \(keys) in \(name ?? "its pinning policy")"
    case .policyExpired(let date):
      return "\(server) \(verb): \(name ?? "its pinning policy") expired at \(date.inCalendar)"
    case .hostNotPinned:
      return "\(server) \(verb): it has no pinning policy, and hosts without one are not allowed"
    case .plaintext:
      let demand = name.map { "and \($0) demands a key" } ?? "where a server proves nothing"
      return "\(server) \(verb): the request is for plain http, \(demand)"
    case .unproven:
      return "\(server) \(verb): the connection has no verified chain of its own handshake"
    case .wrongSPIFFEID(let words):
      return "\(server) \(verb): \(words)"
    case .refused(let words):
      return "\(server) \(verb) by the application's own judge: \(words.onOneLine)"
    }
  }

  /// A suggested fix; `nil` for a failure of a custom judge.
  public var hint: String? {
    switch reason {
    case .noPinMatches:
      "if the server's keys were changed on purpose, add the new one to the policy; if not, an attacker may be "
        + "intercepting the connection"
    case .policyExpired: "renew the policy: check its pins and set a later date"
    case .hostNotPinned: "add a policy for it, or set allowNotPinnedDomains"
    case .plaintext: "use https"
    case .unproven:
      "no policy is at fault, and the request may succeed over a new connection; if it never does, report it"
    case .wrongSPIFFEID:
      "if the server's ID was changed on purpose, require the new one; if not, another workload answers at this address"
    case .refused: nil
    }
  }

  /// The reason of the failure, as a stable word.
  public var code: FailureCode {
    switch reason {
    case .noPinMatches: .pinMismatch
    case .policyExpired: .policyExpired
    case .hostNotPinned: .hostNotPinned
    case .plaintext: .plaintextRefused
    case .wrongSPIFFEID: .spiffeIDMismatch
    case .unproven, .refused: .trustRefused
    }
  }

  private var server: String { trust.server }
}

extension TrustFailure: CustomStringConvertible {
  /// Several lines of text: the sentence, the certificates that the server presented, the configured pins, and the
  /// policy as it could be corrected.
  public var description: String { page(isEnforced: true) }

  /// Returns the text of `description`.
  ///
  /// - Parameter isEnforced: whether the server was refused. If `false`, the text says that it would have been refused.
  func page(isEnforced: Bool) -> String {
    var lines = [sentence(isEnforced ? "was refused" : "would have been refused")]
    if let hint { lines.append("  \(hint)") }
    if !trust.chain.isEmpty { lines.append("  verified chain, leaf first:") }
    lines += trust.chain.map { "    \($0.pin)  \($0.summary)" }
    if !trust.otherCertificates.isEmpty {
      lines.append(
        "  other certificates that the server sent, useless as pins: they are not part of the verified chain")
      lines += trust.otherCertificates.prefix(Self.maximumOthers).map { "    \($0.pin)  \($0.summary)" }
      let more = trust.otherCertificates.count - Self.maximumOthers
      if more > 0 { lines.append("    and \(more) more") }
    }
    if let policy {
      lines.append("  configured pins:")
      lines += policy.sortedPins.map { "    \($0)" }
    }
    return (lines + remedy).joined(separator: "\n")
  }

  /// The source code of the policy, with the keys of the chain as candidates.
  private var remedy: [String] {
    switch reason {
    case .noPinMatches, .policyExpired, .hostNotPinned: break
    case .plaintext, .unproven, .wrongSPIFFEID, .refused: return []
    }
    let source: String
    if let policy {
      source = policy.swiftSource(candidates: trust.chain.filter { !policy.pins.contains($0.pin) })
    } else {
      let policy = PinningPolicy(
        host: trust.host, includeSubdomains: false, expiration: .never, pins: [], enforceBackupPin: true,
        mode: .enforce)
      source = policy.swiftSource(candidates: trust.chain)
    }
    return ["  the policy; uncomment a key only after verifying, through another channel, that it is the server's:"]
      + source.split(separator: "\n").map { "    \($0)" }
  }

  private static let maximumOthers = 10
}
