// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// A server that presented no pinned key, or was refused for another reason: what a ``ServerTrustEvaluator`` tells.
///
/// Encoded as the reports of RFC 7469 §3, with `reason`, `role`, `enforced` and `suppressed` besides.
public struct TrustReport: Sendable, Hashable {
  /// What is wrong with the server.
  public var failure: TrustFailure
  /// When it was judged.
  public var date: Date
  /// Whether it was refused; else a policy in report-only mode let it pass.
  public var isEnforced: Bool
  /// Number of identical failures since the last report of them that were not reported.
  public var suppressed: Int

  /// Makes a report.
  public init(_ failure: TrustFailure, date: Date, isEnforced: Bool, suppressed: Int = 0) {
    self.failure = failure
    self.date = date
    self.isEnforced = isEnforced
    self.suppressed = suppressed
  }

  /// What the server sent, as far as is known: the verified chain without its root, and the certificates that are not
  /// part of it. Whether it sent the root too is not known.
  public var servedCertificates: [PeerCertificate] {
    let chain = failure.trust.chain
    let isRooted = chain.count > 1 && chain.last?.facts?.isSelfIssued == true
    return (isRooted ? chain.dropLast() : chain[...]) + failure.trust.otherCertificates
  }
}

extension TrustReport: CustomStringConvertible {
  /// As that of ``failure``, but for a server that was not refused it says that it would have been; then when, and how
  /// many identical failures were not reported.
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

  /// Dates as RFC 3339 has them, certificates as PEM, pins as `pin-sha256="…"`. A policy that never expires has no
  /// `effective-expiration-date`.
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

  /// One JSON object, its keys sorted.
  public func json() -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    // Texts, numbers and truth values: nothing in it fails to encode.
    return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
  }
}
