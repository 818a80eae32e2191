// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

/// A report of a ``ServerTrustEvaluator`` about a server that presented no pinned key, or failed for another reason.
///
/// It is encoded like the reports of RFC 7469 §3, with the additional members `reason`, `role`, `enforced` and
/// `suppressed`.
public struct TrustReport: Sendable, Hashable {
  /// The failure of the server.
  public var failure: TrustFailure
  /// The time of the judgement.
  public var date: Date
  /// Whether the server was refused. If `false`, a policy in report-only mode accepted it.
  public var isEnforced: Bool
  /// The number of identical failures that were not reported since the last report about them.
  public var suppressed: Int

  /// Creates a report.
  package init(_ failure: TrustFailure, date: Date, isEnforced: Bool, suppressed: Int = 0) {
    self.failure = failure
    self.date = date
    self.isEnforced = isEnforced
    self.suppressed = suppressed
  }

  /// The certificates that the server sent, as far as is known: the verified chain without its root, and the
  /// certificates that are not part of the chain. It is not known whether the server also sent the root.
  package var servedCertificates: [PeerCertificate] {
    let chain = failure.trust.chain
    let isRooted = chain.count > 1 && chain.last?.facts?.isSelfIssued == true
    return (isRooted ? chain.dropLast() : chain[...]) + failure.trust.otherCertificates
  }
}

extension TrustReport: CustomStringConvertible {
  /// The description of ``failure``, the time of the judgement, and the number of identical failures that were not
  /// reported. If the server was not refused, the text says that it would have been.
  public var description: String {
    let count = suppressed == 0 ? "" : "; \(suppressed) identical ones before were not reported"
    return failure.page(isEnforced: isEnforced) + "\n  judged at \(date.inCalendar)\(count)"
  }
}

extension TrustReport: Encodable {
  enum CodingKeys: String, CodingKey {
    case dateTime = "date-time", hostname, port, effectiveExpirationDate = "effective-expiration-date"
    case includeSubdomains = "include-subdomains", notedHostname = "noted-hostname"
    case servedCertificateChain = "served-certificate-chain"
    case validatedCertificateChain = "validated-certificate-chain", knownPins = "known-pins"
    case reason, role, enforced, suppressed
  }

  /// Writes dates in the form of RFC 3339, certificates as PEM, and pins as `pin-sha256="…"`. A policy that never
  /// expires has no `effective-expiration-date`.
  public func encode(to encoder: any Encoder) throws {
    let trust = failure.trust
    let policy = failure.policy
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(date.inCalendar, forKey: .dateTime)
    try container.encode(trust.host.text, forKey: .hostname)
    try container.encode(trust.port, forKey: .port)
    try container.encodeIfPresent(policy?.expiration.date?.inCalendar, forKey: .effectiveExpirationDate)
    try container.encode(policy?.includeSubdomains ?? false, forKey: .includeSubdomains)
    try container.encode((policy?.host ?? trust.host).text, forKey: .notedHostname)
    try container.encode(servedCertificates.map(\.pem), forKey: .servedCertificateChain)
    try container.encode(trust.chain.map(\.pem), forKey: .validatedCertificateChain)
    try container.encode((policy?.sortedPins ?? []).map { "pin-sha256=\"\($0.base64)\"" }, forKey: .knownPins)
    try container.encode(failure.code, forKey: .reason)
    try container.encode(trust.role == .proxy ? "proxy" : "server", forKey: .role)
    try container.encode(isEnforced, forKey: .enforced)
    try container.encode(suppressed, forKey: .suppressed)
  }

  /// Returns the report as one JSON object with sorted keys.
  public func json() -> String { jsonText() }
}
