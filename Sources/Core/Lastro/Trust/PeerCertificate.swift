// SPDX-License-Identifier: Apache-2.0

internal import CLastroPrimitives
public import FoundationEssentials

/// An X.509 certificate as a peer presented it: its DER form and its pin. ``facts`` parses the rest on demand.
public struct PeerCertificate: Sendable, Hashable {
  /// The fields of a certificate. None of them is verified.
  public struct Facts: Sendable, Hashable {
    /// The subject, such as `C=PT, O=Example, CN=api.example.com`.
    public var subject: String
    /// The issuer, in the same form.
    public var issuer: String
    /// The first moment of the validity period.
    public var notBefore: Date
    /// The last moment of the validity period.
    public var notAfter: Date
    /// The kind of the certificate's key, for display, such as `RSA 2048`, `EC P-256` or `ED25519`.
    public var key: String { keyKind.description }
    /// The size of an RSA key's modulus in bits; `nil` for a key of another kind.
    public var rsaBits: Int? { if case .rsa(let bits) = keyKind { bits } else { nil } }
    /// The kind of the certificate's key.
    package var keyKind: PublicKeyKind
    /// Whether the certificate may issue certificates (`basicConstraints`).
    package var isAuthority: Bool
    /// Whether the certificate's key may sign certificates or revocation lists, by the CA flag or the key usage.
    var mayCertify: Bool
    /// Whether there is a key usage with `digitalSignature`.
    var maySign: Bool
    /// Whether subject and issuer are the same, as in root certificates.
    package var isSelfIssued: Bool
  }

  /// The certificate (RFC 5280 §4.1) in DER.
  public let der: [UInt8]
  /// The pin of the certificate's key.
  public let pin: SPKIHash

  /// Wraps a certificate that the engine has already read.
  package init(der: [UInt8], pin: SPKIHash) {
    self.der = der
    self.pin = pin
  }

  /// Reads a certificate. Returns `nil` if the bytes are not a certificate.
  public init?(der: [UInt8]) {
    var bytes = [UInt8](repeating: 0, count: SPKIHash.length)
    guard clastro_certificate_pin(der, der.count, &bytes), let pin = SPKIHash(bytes) else { return nil }
    self.init(der: der, pin: pin)
  }

  /// Reads every `CERTIFICATE` block of a PEM text, in order. Lines may be indented.
  ///
  /// - Throws: ``ConfigurationError`` if there is no certificate, one is broken or encrypted, or a line with
  ///   `BEGIN CERTIFICATE` does not have the dashes that begin a block.
  package static func certificates(pem: String) throws(ConfigurationError) -> [PeerCertificate] {
    var found: [[UInt8]] = []
    let text = pem.withoutIndentation
    let count = withUnsafeMutablePointer(to: &found) { found in
      clastro_pem_certificates(text, text.count, found) { context, der, length in
        context?.assumingMemoryBound(to: [[UInt8]].self).pointee.append(
          [UInt8](UnsafeBufferPointer(start: der, count: length)))
      }
    }
    guard Int(count) != CLASTRO_PEM_SKIPPED else {
      throw ConfigurationError(
        "the PEM text has a BEGIN CERTIFICATE line that does not start a block",
        hint: "write -----BEGIN CERTIFICATE----- on a line of its own, with five dashes on each side")
    }
    let certificates = found.compactMap { PeerCertificate(der: $0) }
    guard count > 0, certificates.count == Int(count) else {
      throw ConfigurationError(
        count == 0 ? "the PEM text holds no certificate" : "a block of the PEM text is not a certificate",
        hint: "put a certificate between -----BEGIN CERTIFICATE----- and -----END CERTIFICATE-----, unencrypted")
    }
    return certificates
  }

  /// The fields of the certificate; `nil` if it cannot be read. The certificate is parsed on every access, which takes
  /// microseconds.
  public var facts: Facts? {
    var facts = clastro_certificate_facts()
    guard clastro_certificate_read(der, der.count, &facts) else { return nil }
    defer { clastro_certificate_facts_free(&facts) }
    return Facts(
      subject: facts.subject.map { String(cString: $0) } ?? "",
      issuer: facts.issuer.map { String(cString: $0) } ?? "",
      notBefore: Date(timeIntervalSince1970: TimeInterval(facts.not_before)),
      notAfter: Date(timeIntervalSince1970: TimeInterval(facts.not_after)),
      keyKind: PublicKeyKind(
        algorithm: facts.key_algorithm.map { String(cString: $0) } ?? "unknown",
        curve: facts.key_curve.map { String(cString: $0) }, bits: Int(facts.key_bits)),
      isAuthority: facts.is_authority, mayCertify: facts.may_certify, maySign: facts.may_sign,
      isSelfIssued: facts.is_self_issued)
  }
}

extension PeerCertificate {
  /// The subject alternative names of the certificate (RFC 5280 §4.2.1.6): host names as they are written in it, and IP
  /// addresses in numeric form. None of them is verified, and a host name may have any character. The certificate is
  /// parsed on every access.
  public var names: [String] { alternativeNames.hosts }

  /// The URIs among the subject alternative names, as they are written in the certificate: with any character. None of
  /// them is verified. The certificate is parsed on every access.
  var uris: [String] { alternativeNames.uris }

  private var alternativeNames: (hosts: [String], uris: [String]) {
    var found: (hosts: [String], uris: [String]) = ([], [])
    withUnsafeMutablePointer(to: &found) { found in
      clastro_certificate_names(der, der.count, found) { context, isURI, text, length in
        let text = String(decoding: UnsafeBufferPointer(start: text, count: length), as: UTF8.self)
        let found = context?.assumingMemoryBound(to: (hosts: [String], uris: [String]).self)
        if isURI { found?.pointee.uris.append(text) } else { found?.pointee.hosts.append(text) }
      }
    }
    return found
  }

  /// Whether the certificate is valid for a host (RFC 6125). The common name counts only if there are no alternative
  /// names.
  package func isFor(_ host: HostName) -> Bool {
    clastro_certificate_is_for(der, der.count, host.text, host.isIPAddress)
  }
}

extension PeerCertificate {
  /// The certificate in PEM (RFC 7468), with a final newline.
  package var pem: String {
    let base64 = Data(der).base64EncodedString(options: [.lineLength64Characters, .endLineWithLineFeed])
    return "-----BEGIN CERTIFICATE-----\n\(base64)\n-----END CERTIFICATE-----\n"
  }

  /// The first 8 of the certificate's names on one line; `nil` if it has none. The names are untrusted: names with
  /// characters that no host has are quoted and escaped.
  package var namesInShort: String? {
    let names = names
    let shown = names.prefix(8).map { name in
      let isPlain = name.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "*-._:".contains($0)) }
      return isPlain ? name.cut(to: 80) : "\"\(name.cut(to: 80).escapedForDisplay)\""
    }
    if names.isEmpty { return nil }
    return shown.joined(separator: ", ") + (names.count > 8 ? " and \(names.count - 8) more" : "")
  }

  /// The subject, the kind of key and the expiry on one line. The subject is untrusted text, so it is cut and put on
  /// one line.
  var summary: String {
    guard let facts else { return "a certificate that cannot be read" }
    return "\(facts.shortSubject); \(facts.key); expires \(facts.notAfter.inCalendar)"
  }
}

extension PeerCertificate.Facts {
  /// The validity period, as text for one line.
  package var dates: String { "from \(notBefore.inCalendar) to \(notAfter.inCalendar)" }
  /// The subject, cut and on one line.
  package var shortSubject: String { subject.isEmpty ? "no subject" : subject.onOneLine.cut(to: 200) }
}

extension String {
  /// Returns at most the given number of scalars. It does not count characters: one character may have any number of
  /// combining marks.
  package func cut(to count: Int) -> String {
    guard unicodeScalars.count > count else { return self }
    return String(String.UnicodeScalarView(unicodeScalars.prefix(count))) + "…"
  }

  /// The bytes for OpenSSL, without a byte order mark and without the blanks at the start of lines. OpenSSL skips PEM
  /// lines that do not begin in the first column.
  var withoutIndentation: [CChar] {
    var result: [CChar] = []
    result.reserveCapacity(utf8.count)
    var isStart = true
    for byte in utf8.starts(with: "\u{FEFF}".utf8) ? utf8.dropFirst(3) : utf8[...] {
      if isStart, byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") { continue }
      isStart = byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r")
      result.append(CChar(bitPattern: byte))
    }
    return result
  }
}
