// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials

extension PinningPolicy {
  /// The policy as Swift source code that can be pasted into a program.
  public var swiftSource: String { swiftSource(candidates: []) }

  /// The host, and whether the policy includes its subdomains.
  var scope: String { host.text + (includeSubdomains ? " and its subdomains" : "") }

  /// The pins in a stable order.
  var sortedPins: [SPKIHash] { pins.sorted { $0.base64 < $1.base64 } }

  /// Returns the policy as Swift source code.
  ///
  /// - Parameter candidates: certificates whose pins are written as comments, as candidates for the reader.
  func swiftSource(candidates: [PeerCertificate]) -> String {
    guard mode != .off || !pins.isEmpty else {
      return "try PinningPolicy.excluding(\(host.isIPAddress ? "ipAddress" : "domainName"): \"\(host.text)\""
        + (includeSubdomains ? ", includeSubdomains: true)" : ")")
    }
    var lines = ["try PinningPolicy(", "  \(host.isIPAddress ? "ipAddress" : "domainName"): \"\(host.text)\","]
    if includeSubdomains { lines.append("  includeSubdomains: true,") }
    if let date = expiration.date {
      let name = if case .refuse = expiration { "refuse" } else { "fallBack" }
      lines.append("  // \(date.inCalendar)")
      let seconds = Int64(exactly: date.timeIntervalSince1970) ?? 0
      lines.append("  expiration: .\(name)(after: Date(timeIntervalSince1970: \(seconds))),")
    }
    lines.append("  pinnedHashes: [")
    lines += sortedPins.map { "    \"\($0)\"," }
    lines += candidates.map { "    // \"\($0.pin)\",  // \($0.summary)" }
    lines.append("  ]" + (enforceBackupPin && mode == .enforce ? ")" : ","))
    if !enforceBackupPin { lines.append("  enforceBackupPin: false" + (mode == .enforce ? ")" : ",")) }
    if mode != .enforce { lines.append("  mode: .\(mode.rawValue))") }
    return lines.joined(separator: "\n")
  }
}
