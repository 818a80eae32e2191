// SPDX-License-Identifier: Apache-2.0

import LastroTesting
import Testing

@testable import Lastro

@Suite("Reading PEM as found in practice")
struct PEMReadingTests {
  let pem: String
  let certificate: PeerCertificate
  let other: PeerCertificate

  static let begin = "-----BEGIN CERTIFICATE-----"
  static let end = "-----END CERTIFICATE-----"

  init() throws {
    let authority = try CertificateAuthority()
    certificate = try PeerCertificate(minted: authority.certificatePEM)
    other = try PeerCertificate(minted: CertificateAuthority().certificatePEM)
    pem = certificate.pem
  }

  func problem(_ text: String) throws -> ConfigurationError {
    try #require(throws: ConfigurationError.self) { try PeerCertificate.certificates(pem: text) }
  }

  @Test("Line ends, a byte order mark, blanks, remarks and other blocks are ignored")
  func harmless() throws {
    let key = KnownKey.all[2].pem
    let crlf = pem.replacing("\n", with: "\r\n")
    let indented = pem.replacing("\n", with: "\n\t ")
    let trailing = pem.replacing("\n", with: "  \n")
    let unended = String(pem.dropLast())
    let texts: [String] = [
      crlf, "\u{FEFF}\(pem)", unended, "\n\n  # BEGIN CERTIFICATE\n\(pem)", "\t \(indented)", trailing,
      "\u{FEFF}  \(pem)",
    ]
    for text in texts {
      #expect(try PeerCertificate.certificates(pem: text) == [certificate])
      #expect(try SPKIHash(pem: text) == certificate.pin)
    }
    #expect(try PeerCertificate.certificates(pem: key + "\n" + pem) == [certificate])
    let others = other.pem.replacing("\n", with: "\r\n")
    let several = "  \(pem)the issuer\n\(others)\(pem)"
    #expect(try PeerCertificate.certificates(pem: several) == [certificate, other, certificate])
  }

  @Test(
    "A block with a damaged first line is not taken for a remark",
    arguments: ["----BEGIN CERTIFICATE-----", "-----BEGIN CERTIFICATE----", "-----BEGIN CERTIFICATE", "x" + begin])
  func almost(line: String) throws {
    let broken = other.pem.replacing(Self.begin, with: line)
    for text in [broken + pem, pem + broken, broken] {
      #expect(try problem(text).message.contains("BEGIN CERTIFICATE line that does not start a block"))
    }
    // The result must not be the pin of the following block.
    for text in [broken + pem, broken] {
      let error = try #require(throws: ConfigurationError.self) { try SPKIHash(pem: text) }
      #expect(error.message == "the PEM text has a BEGIN line that does not start a block")
    }
  }

  @Test("Unfinished and encrypted blocks are errors, and no password is requested")
  func broken() throws {
    let lines = pem.split(separator: "\n").map(String.init)
    let cut = lines.prefix(3).joined(separator: "\n") + "\n"
    let header = "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,00112233445566778899AABBCCDDEEFF\n\n"
    let encrypted = pem.replacing("\(Self.begin)\n", with: "\(Self.begin)\n\(header)")
    let unended = String(pem.dropLast())
    let badEnd = pem.replacing(Self.end, with: "----END CERTIFICATE-----")
    let texts: [String] = [
      cut, "\(cut)\(pem)", "\(pem)\(cut)", "\(unended)\(pem)", badEnd, encrypted, "\(pem)\(encrypted)",
    ]
    for text in texts {
      #expect(try problem(text).message == "a block of the PEM text is not a certificate")
    }
    for text in [cut, cut + pem, encrypted] {
      let error = try #require(throws: ConfigurationError.self) { try SPKIHash(pem: text) }
      #expect(error.message == "the first block of the PEM text, \"CERTIFICATE\", cannot be read")
    }
    #expect(try problem("").message == "the PEM text holds no certificate")
    #expect(try problem(KnownKey.all[2].pem).message == "the PEM text holds no certificate")
  }

  /// The requests were made with `openssl req`. In the second, the algorithm of the key was changed to 1.3.101.119,
  /// which does not exist. The third key has the algorithm 1.2.3.4.
  static let keys = [
    (
      """
      -----BEGIN CERTIFICATE REQUEST-----
      MIGLMD8CAQAwDDEKMAgGA1UEAwwBYTAqMAUGAytlcAMhAF2jkYpvqoOCo+8k9DOY
      CcMWyfkUTc1izPplEqzvzJi+oAAwBQYDK2VwA0EA4k6NADnR52wb3p1ygW1rKkQn
      YBHX2qnaC1sNUKD74eAhxgs2JOtJzVPF3HNAFpN4o/eMPH7MA5A2n50q7ym5Dw==
      -----END CERTIFICATE REQUEST-----
      """, "q/nDqgN+7HZvMIp94eRFD36UxpWuZjrtyfIqsLBLz6w="
    ),
    (
      """
      -----BEGIN CERTIFICATE REQUEST-----
      MIGLMD8CAQAwDDEKMAgGA1UEAwwBYTAqMAUGAytldwMhAF2jkYpvqoOCo+8k9DOY
      CcMWyfkUTc1izPplEqzvzJi+oAAwBQYDK2VwA0EA4k6NADnR52wb3p1ygW1rKkQn
      YBHX2qnaC1sNUKD74eAhxgs2JOtJzVPF3HNAFpN4o/eMPH7MA5A2n50q7ym5Dw==
      -----END CERTIFICATE REQUEST-----
      """, "HRedK0BpuWByVtGB8jlsibm695yHhmE1FsbFr8d+8xQ="
    ),
    (
      """
      -----BEGIN PUBLIC KEY-----
      MAwwBQYDKgMEAwMAAQI=
      -----END PUBLIC KEY-----
      """, "V2rild7Lhh8O94QzPG5knO95ZLe0Ts+D4llUH2h7GLA="
    ),
  ]

  @Test("Pins of certificate requests and keys are computed, whatever the key's type", arguments: keys)
  func keyTypes(pem: String, pin: String) throws {
    #expect(try SPKIHash(pem: pem).base64 == pin)
    #expect(try SPKIHash(pem: pem + "\n" + self.pem).base64 == pin)
  }

  @Test("Bytes after the key in its block make it invalid")
  func trailing() {
    // The third of `keys`, followed by two bytes.
    let error = #expect(throws: ConfigurationError.self) {
      try SPKIHash(pem: "-----BEGIN PUBLIC KEY-----\nMAwwBQYDKgMEAwMAAQIFAA==\n-----END PUBLIC KEY-----\n")
    }
    #expect(error?.message == "the first block of the PEM text, \"PUBLIC KEY\", cannot be read")
  }

  @Test("A text without a key to pin is refused with what was found and what to do")
  func reasons() throws {
    func block(_ label: String) -> String { "-----BEGIN \(label)-----\nMC4CAQA=\n-----END \(label)-----\n" }
    let der = String(decoding: certificate.der, as: UTF8.self)
    let base64 = pem.split(separator: "\n").dropFirst().dropLast().joined(separator: "\n")
    let rows: [(text: String, found: String, remedy: String)] = [
      (block("PRIVATE KEY"), "is a private key, \"PRIVATE KEY\"", "openssl pkey -in FILE -pubout"),
      (block("EC PRIVATE KEY") + pem, "is a private key, \"EC PRIVATE KEY\"", "openssl pkey -in FILE -pubout"),
      (block("ENCRYPTED PRIVATE KEY"), "is a private key, \"ENCRYPTED PRIVATE KEY\"", "openssl pkey"),
      (block("OPENSSH PRIVATE KEY"), "is a private key of SSH", "of a TLS server"),
      (block("RSA PUBLIC KEY"), "in the form of PKCS #1", "openssl rsa -RSAPublicKey_in"),
      (block("EC PARAMETERS") + pem, "\"EC PARAMETERS\", is neither", "put the block PUBLIC KEY"),
      (block("X\u{1B}[31m"), "\"X\\u{1B}[31m\", is neither", "put the block PUBLIC KEY"),
      (der, "binary, such as a key or a certificate in DER", "openssl x509 -inform DER"),
      (certificate.pin.description + "\n", "but a pin", "without the label pem"),
      (base64, "has no BEGIN line: it is Base64 alone", "-----BEGIN PUBLIC KEY-----"),
      ("/etc/ssl/backup.pem", "has no block", "not its path"), (" \n", "is empty", "the content of a file"),
    ]
    for (text, found, remedy) in rows {
      let error = try #require(throws: ConfigurationError.self) { try SPKIHash(pem: text) }
      #expect(error.message.contains(found), "\(error)")
      #expect(error.hint?.contains(remedy) == true, "\(error)")
      #expect(!error.description.contains("MC4CAQA="))
    }
  }
}
