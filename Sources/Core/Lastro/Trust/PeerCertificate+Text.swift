// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials

extension PeerCertificate {
  /// The certificate in PEM (RFC 7468), with a final newline.
  public var pem: String {
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
