// SPDX-License-Identifier: Apache-2.0

import LastroTesting
import TestSupport
import Testing

@testable import Lastro

@Suite("SPIFFE IDs")
struct SPIFFEIDTests {
  private static let long = "spiffe://example.org/" + String(repeating: "a", count: 2_027)

  static let validIDs: [(text: String, trustDomain: String, path: String)] = [
    ("spiffe://example.org", "example.org", ""),
    ("spiffe://example.org/a", "example.org", "/a"),
    ("spiffe://example.org/ns/default/sa/Web_1.2-x", "example.org", "/ns/default/sa/Web_1.2-x"),
    ("spiffe://1_a-b.c/...", "1_a-b.c", "/..."), ("spiffe://../.a", "..", "/.a"),
    ("spiffe://\(String(repeating: "d", count: 255))/x", String(repeating: "d", count: 255), "/x"),
    (long, "example.org", "/" + String(repeating: "a", count: 2_027)),
  ]

  static let invalidIDs: [(text: String, problem: String)] = [
    ("", "does not begin with spiffe://"), ("example.org/a", "does not begin with spiffe://"),
    ("SPIFFE://example.org/a", "does not begin with spiffe://"), ("https://example.org/a", "does not begin with"),
    ("spiffe:/example.org", "does not begin with spiffe://"), (" spiffe://example.org", "does not begin with"),
    ("spiffe://", "names no trust domain"), ("spiffe:///a", "names no trust domain"),
    ("spiffe://Example.org/a", "has the character E in its trust domain"),
    ("spiffe://user@example.org/a", "has the character @ in its trust domain"),
    ("spiffe://example.org:443/a", "has the character : in its trust domain"),
    ("spiffe://example.org?q", "has the character ? in its trust domain"),
    ("spiffe://exa mple.org", "has the byte 32 in its trust domain"),
    ("spiffe://exämple.org", "has the byte 195 in its trust domain"),
    ("spiffe://\(String(repeating: "d", count: 256))/x", "has a trust domain of 256 bytes"),
    ("spiffe://example.org/", "has an empty path segment"), ("spiffe://example.org/a/", "has an empty path segment"),
    ("spiffe://example.org//a", "has an empty path segment"),
    ("spiffe://example.org/a//b", "has an empty path segment"),
    ("spiffe://example.org/.", "has a path segment of dots"),
    ("spiffe://example.org/a/../b", "has a path segment of dots"),
    ("spiffe://example.org/a?q=1", "has the character ? in its path"),
    ("spiffe://example.org/a#f", "has the character # in its path"),
    ("spiffe://example.org/a%62", "has the character % in its path"),
    ("spiffe://example.org/a*", "has the character * in its path"),
    ("spiffe://example.org/a\0b", "has the byte 0 in its path"),
    ("spiffe://example.org/a\n", "has the byte 10 in its path"),
    ("spiffe://example.org/ä", "has the byte 195 in its path"), (long + "a", "has 2049 bytes"),
  ]

  @Test("A valid ID is read, with its trust domain and its path", arguments: validIDs)
  func valid(text: String, trustDomain: String, path: String) throws {
    let id = try SPIFFEID(text)
    #expect(id.text == text && id.description == text && id.trustDomain == trustDomain && id.path == path)
  }

  @Test("An invalid ID is refused, with the reason and a remedy on one line", arguments: invalidIDs)
  func invalid(text: String, problem: String) throws {
    let error = try #require(throws: ConfigurationError.self) { try SPIFFEID(text) }
    #expect(error.message.contains(problem), "\(error)")
    #expect(error.hint?.isEmpty == false && !error.message.contains("\n") && error.message.utf8.count < 400)
  }

  @Test("IDs are equal if their texts are")
  func equality() throws {
    #expect(try SPIFFEID("spiffe://a.test/x") == SPIFFEID("spiffe://a.test/x"))
    #expect(try SPIFFEID("spiffe://a.test/x") != SPIFFEID("spiffe://a.test/X"))
    #expect(try SPIFFEID("spiffe://a.test") != SPIFFEID("spiffe://a.test/x"))
  }

  @Test("Mutated IDs are accepted exactly if they match the grammar")
  func mutated() throws {
    var dice = SeededGenerator(seed: 11)
    let pieces = [
      "/", "//", ".", "..", "A", "z", "0", "_", "-", "%41", "?", "#", "@", ":", "\0", "ä", "\u{212A}", " ", "\n",
    ]
    var accepted = 0, refused = 0
    for _ in 0..<5_000 {
      var text = Self.validIDs[Int.random(in: 0..<5, using: &dice)].text
      for _ in 0..<Int.random(in: 1...3, using: &dice) {
        let at = text.index(text.startIndex, offsetBy: Int.random(in: 0...text.count, using: &dice))
        switch Int.random(in: 0..<3, using: &dice) {
        case 0 where at < text.endIndex: text.remove(at: at)
        case 1 where at < text.endIndex: text.replaceSubrange(at...at, with: pieces.randomElement(using: &dice) ?? "")
        default: text.insert(contentsOf: pieces.randomElement(using: &dice) ?? "", at: at)
        }
      }
      let id = try? SPIFFEID(text)
      #expect((id != nil) == Self.matchesGrammar(text), "\(text.debugDescription)")
      if let id { #expect("spiffe://\(id.trustDomain)\(id.path)" == text) }
      if id == nil { refused += 1 } else { accepted += 1 }
    }
    #expect(accepted > 500 && refused > 500)
  }

  /// Decides by the grammar of the standard, written as an expression.
  private static func matchesGrammar(_ text: String) -> Bool {
    let grammar = /spiffe:\/\/[a-z0-9._\-]{1,255}(?:\/(?!\.{1,2}(?:\/|$))[a-zA-Z0-9._\-]+)*/
    guard text.unicodeScalars.allSatisfy({ $0.isASCII && $0 != "\n" }) else { return false }
    return text.utf8.count <= 2_048 && text.wholeMatch(of: grammar) != nil
  }
}

@Suite("SPIFFE IDs in certificates")
struct CertificateSPIFFEIDTests {
  private static let id = "spiffe://example.org/orders"
  private let authority: CertificateAuthority

  init() throws { authority = try CertificateAuthority() }

  private func read(_ minted: MintedCertificate) throws -> PeerCertificate {
    try PeerCertificate(minted: minted.certificatePEM)
  }

  /// Returns the reason why a certificate is not the SVID of a workload; `nil` if it is.
  private func fault(_ certificate: PeerCertificate) -> String? {
    do throws(SVIDFault) {
      #expect(try certificate.workloadID() == certificate.spiffeID)
      return nil
    } catch {
      #expect(certificate.spiffeID == nil)
      return error.text
    }
  }

  @Test("The only URI of a leaf is its ID, beside any number of host names")
  func leaf() throws {
    #expect(try read(authority.svid(Self.id)).spiffeID == SPIFFEID(Self.id))
    let named = try read(authority.svid("DNS:a.test", Self.id, "DNS:b.test"))
    #expect(try named.spiffeID == SPIFFEID(Self.id) && named.names == ["a.test", "b.test"] && named.uris == [Self.id])
  }

  @Test("A certificate that is not the SVID of a workload has no ID, and the reason names what it shows")
  func faults() throws {
    let other = "spiffe://example.org/other"
    let cases: [(MintedCertificate, String)] = [
      (try authority.issue(hosts: ["localhost"]), "shows no SPIFFE ID"),
      (try authority.svid(Self.id, other), "shows 2 URIs, \"\(Self.id)\", \"\(other)\", and an SVID has one"),
      (try authority.svid(Self.id, Self.id), "shows 2 URIs"),
      (
        try authority.svid("https://example.org/orders"),
        "shows an invalid ID: the SPIFFE ID \"https://example.org/orders\""
      ),
      (try authority.svid("spiffe://Example.org/orders"), "has the character E in its trust domain"),
      (try authority.svid("spiffe://example.org"), "shows spiffe://example.org, which names a trust domain"),
      (try authority.svid(Self.id) { $0.basicConstraints = "critical,CA:TRUE" }, "the certificate of an authority"),
      (try authority.svid(Self.id) { $0.keyUsage = "critical,digitalSignature,keyCertSign" }, "of an authority"),
      (try authority.svid(Self.id) { $0.keyUsage = "critical,digitalSignature,cRLSign" }, "of an authority"),
      (try authority.svid(Self.id) { $0.keyUsage = "critical,keyAgreement" }, "without the key usage digitalSignature"),
      (try authority.svid(Self.id) { $0.keyUsage = "" }, "without the key usage digitalSignature"),
      (try authority.svid(Self.id) { $0.isVersion1 = true }, "shows no SPIFFE ID"),
    ]
    for (minted, expected) in cases {
      let fault = try fault(read(minted))
      #expect(fault?.contains(expected) == true, "\(expected): \(fault ?? "none")")
    }
  }

  @Test("Names with a NUL, bytes outside of ASCII, or any length are no IDs, and their report is short")
  func hostile() throws {
    for bytes in [[UInt8(0)], [0xff], [0x0a], [0xc3, 0xa4], [0x80], Array("%00".utf8)] {
      let certificate = try read(authority.svid("DER:") { $0.alternativeNames = Self.der(Array(Self.id.utf8) + bytes) })
      #expect(certificate.uris.count == 1)
      let reason = try #require(fault(certificate))
      #expect(reason.contains("shows an invalid ID") && reason.allSatisfy { $0.isASCII && !$0.isNewline }, "\(reason)")
    }
    let long = try read(authority.svid("spiffe://example.org/" + String(repeating: "a", count: 20_000)))
    #expect(try #require(fault(long)).utf8.count < 400 && long.uris.first?.utf8.count == 20_021)
    let many = try read(
      authority.svid("") { profile in
        profile.alternativeNames = (0..<3_000).map { "URI:spiffe://example.org/\($0)" }.joined(separator: ",")
      })
    #expect(many.uris.count == 3_000)
    #expect(try #require(fault(many)).hasSuffix("\"spiffe://example.org/3\" and 2996 more, and an SVID has one"))
  }

  @Test("Damaged certificates are read without a fault of memory, and never with another ID")
  func damaged() throws {
    var dice = SeededGenerator(seed: 12)
    let certificate = try read(authority.svid("DNS:a.test", Self.id))
    var unreadable = 0, changed = 0
    for _ in 0..<5_000 {
      var der = certificate.der
      for _ in 0..<Int.random(in: 1...3, using: &dice) {
        der[Int.random(in: 0..<der.count, using: &dice)] = UInt8.random(in: 0...255, using: &dice)
      }
      guard let damaged = PeerCertificate(der: der) else {
        unreadable += 1
        continue
      }
      if damaged.uris != [Self.id] { changed += 1 }
      // An ID that is read is what the bytes of the certificate say.
      if let id = damaged.spiffeID { #expect(damaged.uris == [id.text]) }
    }
    #expect(unreadable > 100 && changed > 100)
  }

  /// Returns the extension of one URI as DER, in OpenSSL's notation.
  private static func der(_ uri: [UInt8]) -> String {
    let name = [0x86, UInt8(uri.count)] + uri
    let names = [0x30, UInt8(name.count)] + name
    return "DER:" + names.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }
}
