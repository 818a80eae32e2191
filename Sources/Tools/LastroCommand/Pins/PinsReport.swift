// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro

/// The output of `lastro pins` for a server or for files.
struct PinsReport {
  var server: ServerAddress?
  var keys: [PinnableKey] = []
  var proposal: PinProposal?
  var error: Report.Failure?

  var text: String {
    var lines = [server.map { "\($0): verified chain" } ?? "not verified: from files"]
    lines += keys.filter(\.isUsable).flatMap(\.lines)
    let others = keys.filter { !$0.isUsable }
    if !others.isEmpty {
      lines.append("other certificates sent, not part of the chain: of no use as pins")
      lines += others.flatMap(\.lines)
    }
    if let proposal {
      lines += ["", "Swift:", proposal.swift, "", "JSON, as for --pin-policy:", proposal.configuration.json(), ""]
      lines.append("To do: \(proposal.advice).")
    }
    return lines.joined(separator: "\n")
  }
}

extension PinsReport: Encodable {
  enum CodingKeys: String, CodingKey {
    case host, port, verified, chain, keys, policy, swift, advice, error
    case otherCertificates = "other_certificates"
  }

  /// Encodes absent values as `null`, so that every object has the same keys.
  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(server?.host.text, forKey: .host)
    try container.encode(server?.port, forKey: .port)
    try container.encode(server != nil && error == nil, forKey: .verified)
    try container.encode(keys.filter { server != nil && $0.isUsable }, forKey: .chain)
    try container.encode(keys.filter { !$0.isUsable }, forKey: .otherCertificates)
    try container.encode(keys.filter { server == nil && $0.isUsable }, forKey: .keys)
    try container.encode(proposal?.configuration, forKey: .policy)
    try container.encode(proposal?.swift, forKey: .swift)
    try container.encode(proposal?.advice, forKey: .advice)
    try container.encode(error, forKey: .error)
  }
}

/// The output of `lastro pins --check`.
struct PinCheckReport: Encodable {
  var file: String
  var policies = 0
  /// The servers as they are written in commands.
  var servers: [String]
  var findings: [ServerTrustEvaluator.Finding] = []
  @Nullable var error: Report.Failure? = nil

  /// Whether the policies cut off a host now.
  var isBad: Bool { findings.contains { $0.severity == .error } }

  var text: String {
    guard findings.isEmpty else { return findings.map { "\($0)".onOneLine }.joined(separator: "\n") }
    return "ok: nothing found in \(policies == 1 ? "1 policy" : "\(policies) policies")"
  }
}
