// SPDX-License-Identifier: Apache-2.0

import ConformanceData
import LastroTesting

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A case of x509-limbo (C2SP): a chain, what is trusted, and whether a client for the web must accept it.
struct LimboCase: Decodable, Sendable {
  enum Kind: String, Decodable, Sendable {
    case server = "SERVER"
    case client = "CLIENT"
  }

  enum Expectation: String, Decodable, Sendable {
    case success = "SUCCESS"
    case failure = "FAILURE"
  }

  struct PeerName: Decodable, Sendable {
    /// `DNS`, `IP` or `RFC822`.
    var kind: String
    var value: String
  }

  var id: String
  var features: [String]
  var kind: Kind
  var trustedCertificates: [String]
  var intermediates: [String]
  var certificate: String
  var privateKey: String?
  var validationTime: String?
  var expectation: Expectation
  var peerName: PeerName?
  var maximumDepth: Int?
  var revocationLists: [String]

  enum CodingKeys: String, CodingKey {
    case id, features
    case kind = "validation_kind"
    case trustedCertificates = "trusted_certs"
    case intermediates = "untrusted_intermediates"
    case certificate = "peer_certificate"
    case privateKey = "peer_certificate_key"
    case validationTime = "validation_time"
    case expectation = "expected_result"
    case peerName = "expected_peer_name"
    case maximumDepth = "max_chain_depth"
    case revocationLists = "crls"
  }

  /// PEM text of the roots.
  var roots: String { trustedCertificates.joined(separator: "\n") }

  /// The host a client asks for.
  var host: String { peerName?.value ?? "" }

  /// What a server would present; `nil` without a key.
  var identity: MintedCertificate? {
    privateKey.map {
      MintedCertificate(
        certificatePEM: certificate, privateKeyPEM: $0,
        chainPEM: ([certificate] + intermediates).joined(separator: "\n"))
    }
  }

  /// Whether a server can present it today to a client, with the same right answer: its key is there, the client has a
  /// host to ask for, and neither a clock nor revocation lists matter.
  var isServable: Bool {
    guard kind == .server, privateKey != nil, peerName != nil else { return false }
    return (validationTime == nil && revocationLists.isEmpty) || Self.servableAllTheSame.contains(id)
  }

  private static let servableAllTheSame: Set<String> = [
    // What had expired then has expired.
    "rfc5280::validity::expired-root", "rfc5280::validity::expired-intermediate", "rfc5280::validity::expired-leaf",
    "rfc5280::validity::expired-1-second", "rfc5280::validity::expired-5-seconds",
    // What no list revokes is good without the lists, and valid for a thousand years.
    "crl::certificate-not-on-crl", "crl::certificate-serial-on-crl-different-issuer",
    "crl::issuer-no-keyusage-extension", "crl::issuer-valid-crlsign-and-keycertsign",
  ]
}

extension LimboCase {
  private struct File: Decodable {
    var testcases: [LimboCase]
  }

  static func all() throws -> [LimboCase] {
    try JSONDecoder().decode(File.self, from: ConformanceData.file("x509-limbo/limbo.json")).testcases
  }
}
