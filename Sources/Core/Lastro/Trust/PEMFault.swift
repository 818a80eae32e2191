// SPDX-License-Identifier: Apache-2.0

/// Explains why a text has no key that can be pinned. The explanation does not contain the text, which may be a private
/// key.
enum PEMFault {
  /// Returns the error for a text whose first block has no readable public key.
  static func error(for pem: String) -> ConfigurationError {
    let text = pem.hasPrefix("\u{FEFF}") ? pem.dropFirst() : pem[...]
    for line in text.split(whereSeparator: \.isNewline).map(\.withoutBlanks) {
      guard let begin = line.firstRange(of: "BEGIN ") else { continue }
      // Other lines with this word are remarks.
      guard line[..<begin.lowerBound].hasSuffix("-") || line.hasSuffix("-") else { continue }
      guard line.hasPrefix("-----BEGIN "), line.hasSuffix("-----") else {
        return ConfigurationError(
          "the PEM text has a BEGIN line that does not start a block",
          hint: "write -----BEGIN PUBLIC KEY----- on a line of its own, with five dashes on each side")
      }
      return error(forBlock: String(line.dropFirst("-----BEGIN ".count).dropLast(5)))
    }
    return error(withoutBlock: text)
  }

  private static func error(forBlock label: String) -> ConfigurationError {
    let shown = "\"\(label.escapedForDisplay.cut(to: 60))\""
    switch label {
    case "CERTIFICATE", "CERTIFICATE REQUEST", "NEW CERTIFICATE REQUEST", "PUBLIC KEY":
      return ConfigurationError(
        "the first block of the PEM text, \(shown), cannot be read",
        hint: "check that it is complete and not encrypted, from its BEGIN line to its END line")
    case "OPENSSH PRIVATE KEY":
      return ConfigurationError(
        "the first block of the PEM text is a private key of SSH, \(shown)",
        hint: "give the key or the certificate of a TLS server")
    case _ where label.hasSuffix("PRIVATE KEY"):
      return ConfigurationError(
        "the first block of the PEM text is a private key, \(shown)",
        hint: "give its public key, which openssl pkey -in FILE -pubout prints, and keep the private key secret")
    case "RSA PUBLIC KEY":
      return ConfigurationError(
        "the first block of the PEM text is a public key in the form of PKCS #1, \(shown)",
        hint: "convert it: openssl rsa -RSAPublicKey_in -in FILE -pubout")
    default:
      return ConfigurationError(
        "the first block of the PEM text, \(shown), is neither a public key nor a certificate",
        hint: "put the block PUBLIC KEY, CERTIFICATE or CERTIFICATE REQUEST first")
    }
  }

  private static func error(withoutBlock text: Substring) -> ConfigurationError {
    let trimmed = text.drop(while: \.isWhitespace)
    if trimmed.isEmpty {
      return ConfigurationError(
        "the PEM text is empty", hint: "give the content of a file, such as openssl pkey -in FILE -pubout prints")
    }
    // DER begins with the byte of a sequence, and is no text: its other bytes were replaced when it was decoded.
    if text.unicodeScalars.contains(where: { $0 == "\u{FFFD}" || $0.value < 0x09 }) {
      return ConfigurationError(
        "the text is not PEM, but binary, such as a key or a certificate in DER",
        hint: "convert it: openssl pkey -pubin -inform DER -in FILE -pubout, or openssl x509 -inform DER -in FILE")
    }
    if SPKIHash(String(trimmed.prefix { !$0.isWhitespace })) != nil {
      return ConfigurationError("the text is not PEM, but a pin", hint: "call SPKIHash(_:) without the label pem")
    }
    // A DER sequence begins with this letter in Base64.
    if trimmed.hasPrefix("M"), trimmed.utf8.count > 40, trimmed.allSatisfy({ $0.isWhitespace || isBase64($0) }) {
      return ConfigurationError(
        "the PEM text has no BEGIN line: it is Base64 alone",
        hint: "put it between -----BEGIN PUBLIC KEY----- and -----END PUBLIC KEY-----, or the lines of a CERTIFICATE")
    }
    return ConfigurationError(
      "the PEM text has no block",
      hint: "give the content of a file, not its path; it must have a line -----BEGIN PUBLIC KEY----- or CERTIFICATE")
  }

  private static func isBase64(_ character: Character) -> Bool {
    character.isASCII && (character.isLetter || character.isNumber || "+/=".contains(character))
  }
}
