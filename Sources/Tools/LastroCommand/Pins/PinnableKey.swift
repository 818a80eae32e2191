// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro

/// A key, and the source in which it was found.
struct PinnableKey {
  enum Source: String {
    case certificate
    case request
    case publicKey = "public_key"
  }

  enum Position: String {
    case leaf, intermediate, root
  }

  var pin: SPKIHash
  var source: Source
  /// The facts of the certificate; `nil` for other sources.
  var facts: PeerCertificate.Facts?
  /// The subject alternative names; `nil` for sources other than certificates.
  var names: [String]?
  /// The position in a chain; `nil` if there is no chain.
  var position: Position?
  /// Whether pinning the key can match the server: false for a certificate that was sent but is not part of the chain.
  var isUsable = true
  var file: String?

  /// - Parameter position: the position. Default: determined from the certificate's own fields.
  init(_ certificate: PeerCertificate, position: Position? = nil) {
    pin = certificate.pin
    source = .certificate
    facts = certificate.facts
    names = certificate.names
    self.position = position ?? facts.map { $0.isAuthority ? $0.isSelfIssued ? .root : .intermediate : .leaf }
  }

  init(_ pin: SPKIHash, source: Source) {
    self.pin = pin
    self.source = source
  }

  /// Returns the keys of a server, those of its chain first.
  static func keys(of trust: ServerTrust) -> [PinnableKey] {
    let chain = trust.chain.enumerated().map { index, certificate in
      var key = PinnableKey(certificate)
      let isRoot = index > 0 && index == trust.chain.count - 1 && key.facts?.isSelfIssued == true
      key.position = index == 0 ? .leaf : isRoot ? .root : .intermediate
      return key
    }
    return chain
      + trust.otherCertificates.map { certificate in
        var key = PinnableKey(certificate)
        (key.isUsable, key.position) = (false, nil)
        return key
      }
  }
}

extension PinnableKey {
  /// A word that describes the key.
  var title: String {
    if !isUsable { return "unusable" }
    switch source {
    case .certificate: return position?.rawValue ?? "certificate"
    case .request: return "request"
    case .publicKey: return "public key"
    }
  }

  /// The subject, on one line and truncated, because it is text from an untrusted source.
  var subject: String? { facts.map { $0.subject.isEmpty ? "no subject" : String($0.subject.onOneLine.prefix(200)) } }

  var lines: [String] {
    let name = [subject, file.map { "in \($0.onOneLine)" }].compactMap { $0 }.joined(separator: ", ")
    let details = facts.map { "expires \($0.notAfter.formatted(.iso8601)); \($0.key)" }
    return ["\(title.padded(to: 13)) \(name)", details, "\(pin)"].compactMap { $0 }.enumerated().map { index, line in
      index == 0 ? "  \(line)" : "                \(line)"
    }
  }

  /// The comment after a pin in Swift source.
  var comment: String {
    ([title, subject] + [facts.map { "\($0.key), expires \($0.notAfter.formatted(.iso8601))" }]).compactMap { $0 }
      .joined(separator: ": ")
  }
}

extension String {
  fileprivate func padded(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }
}

extension PinnableKey: Encodable {
  enum CodingKeys: String, CodingKey {
    case source, position, subject, issuer, names, key, pin, usable, file
    case notBefore = "not_before"
    case expires
  }

  /// Encodes absent values as `null`, so that every object has the same keys.
  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(source.rawValue, forKey: .source)
    try container.encode(position?.rawValue, forKey: .position)
    try container.encode(facts?.subject, forKey: .subject)
    try container.encode(facts?.issuer, forKey: .issuer)
    try container.encode(names, forKey: .names)
    try container.encode(facts?.key.description, forKey: .key)
    try container.encode(facts?.notBefore.formatted(.iso8601), forKey: .notBefore)
    try container.encode(facts?.notAfter.formatted(.iso8601), forKey: .expires)
    try container.encode(pin, forKey: .pin)
    try container.encode(isUsable, forKey: .usable)
    try container.encode(file, forKey: .file)
  }
}
