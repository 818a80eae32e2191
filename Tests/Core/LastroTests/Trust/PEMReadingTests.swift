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
      #expect(SPKIHash(pem: text) == certificate.pin)
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
    #expect(SPKIHash(pem: broken + pem) == nil && SPKIHash(pem: broken) == nil)
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
    for text in [cut, cut + pem, encrypted] { #expect(SPKIHash(pem: text) == nil) }
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
  func keyTypes(pem: String, pin: String) {
    #expect(SPKIHash(pem: pem)?.base64 == pin)
    #expect(SPKIHash(pem: pem + "\n" + self.pem)?.base64 == pin)
  }

  @Test("Bytes after the key in its block make it invalid")
  func trailing() {
    // The third of `keys`, followed by two bytes.
    #expect(SPKIHash(pem: "-----BEGIN PUBLIC KEY-----\nMAwwBQYDKgMEAwMAAQIFAA==\n-----END PUBLIC KEY-----\n") == nil)
  }
}
