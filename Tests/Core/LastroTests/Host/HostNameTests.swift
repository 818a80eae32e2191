// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import LastroWire
import Testing

@Suite("Host names")
struct HostNameTests {
  @Test(
    "Equivalent host names have one form",
    arguments: [
      ("example.com", "example.com"), ("EXAMPLE.com.", "example.com"), ("localhost", "localhost"),
      ("a_b.example", "a_b.example"), ("-a-.b--c", "-a-.b--c"), ("1.example", "1.example"),
      ("Bücher.example", "xn--bcher-kva.example"), ("bu\u{308}cher.example", "xn--bcher-kva.example"),
      ("XN--BCHER-KVA.example", "xn--bcher-kva.example"), ("faß.de", "xn--fa-hia.de"),
      ("βόλος.com", "xn--nxasmm1c.com"),
      ("ẞ.com", "xn--zca.com"), ("日本語.jp", "xn--wgv71a119e.jp"), ("\u{212A}.com", "k.com"),
      ("127.0.0.1", "127.0.0.1"), ("::1", "::1"), ("[::1]", "::1"), ("2001:DB8:0:0:0:0:0:1", "2001:db8::1"),
      ("[2001:db8:0:1:0:0:0:1]", "2001:db8:0:1::1"), ("::FFFF:10.0.0.1", "10.0.0.1"),
      ("[::ffff:a00:1]", "10.0.0.1"), ("0:0:0:0:0:ffff:0a00:0001", "10.0.0.1"), ("::ffff:0:0", "0.0.0.0"),
      ("::ffff:0:a00:1", "::ffff:0:a00:1"), ("::fffe:a00:1", "::fffe:a00:1"), ("::10.0.0.1", "::10.0.0.1"),
      (String(repeating: "a", count: 63) + ".b", String(repeating: "a", count: 63) + ".b"),
    ])
  func canonical(text: String, expected: String) throws {
    let host = try HostName(text)
    #expect(host.text == expected && host.description == expected)
    #expect(try HostName(expected) == host)
    #expect(host.isIPAddress == (expected.contains(":") || expected.allSatisfy { $0.isNumber || $0 == "." }))
  }

  @Test(
    "Invalid host names are refused with a reason",
    arguments: [
      ("", "empty"), (".", "empty label"), ("..", "empty label"), ("a..b", "empty label"), (".a", "empty label"),
      ("a.b..", "empty label"), ("example.com:443", "port"), ("[::1]:443", "without a port"), ("[::1", "bracket"),
      ("[::g]", "IPv6"), ("::1::2", "IPv6"), ("[127.0.0.1]", "IPv6"), ("fe80::1%eth0", "zone"), ("*.example.com", "*"),
      ("https://example.com/", "without scheme"), ("example.com/path", "without scheme"), ("u@example.com", "after @"),
      ("a b.com", "space"), (" a.com", "space"), ("a%41.com", "%"), ("a\tb", "U+0009"), ("a\u{0}b", "U+0000"),
      ("::1\u{0}", "control"), ("[::1\u{0}x]", "control"), ("::1\n", "control"), ("[ ::1]", "space"), ("::１", "ASCII"),
      ("1.2.3", "IPv4"), ("1.2.3.4.5", "IPv4"), ("256.1.1.1", "IPv4"), ("01.2.3.4", "IPv4"), ("0x7f.1", "IPv4"),
      ("a.0xff", "IPv4"), ("a.1", "IPv4"), ("0x", "IPv4"),
      (String(repeating: "a", count: 64), "63 bytes"), (String(repeating: "ü", count: 60), "63 bytes"),
      (String(repeating: "a.", count: 126) + "bc", "maximum of 253"), (String(repeating: "a", count: 513), "513 bytes"),
      ("xn--", "xn--"), ("xn--a", "U+0080"), ("xn--bcher-kv", "Punycode"), ("xn--abc-", "Punycode"),
      ("xn--bücher", "all in Unicode"), ("xn--u-ccb", "not normalized"), ("xn--ls8h.la", "U+1F4A9"),
      ("xn--" + String(repeating: "9", count: 60), "63 bytes"),
      ("ｈ.com", "maps to other letters"), ("a。com", "U+3002"), ("a\u{AD}b", "maps to other letters"),
      ("💩.la", "letters, marks"),
      ("\u{301}a.com", "combining mark"), ("a.\u{301}", "combining mark"), ("a\u{200D}b", "U+200D"),
      ("a\u{200C}b", "U+200C"), ("\u{1100}\u{1161}.kr", "U+1100"), ("가\u{11A8}.kr", "U+11A8"), ("ـ.com", "U+0640"),
      ("اa.com", "right-to-left"), ("1.א", "right-to-left"), ("1a.א", "right-to-left"), ("א1٢.com", "right-to-left"),
      ("ą\u{323}.lt", "normal form"), ("Ω\u{345}.gr", "U+0345"),
    ])
  func refused(text: String, part: String) {
    let error = #expect(throws: ConfigurationError.self) { try HostName(text) }
    #expect(error?.description.contains(part) == true, "\(error?.description ?? "accepted")")
  }

  @Test(
    "Combining marks are composed to NFC",
    arguments: [
      ("e\u{323}\u{302}", "ệ"), ("e\u{302}\u{323}", "ệ"), ("ê\u{323}", "ệ"), ("ẹ\u{302}", "ệ"),
      ("q\u{323}\u{307}", "q̣̇"),
      ("q\u{307}\u{323}", "q̣̇"), ("α\u{313}\u{301}", "ἄ"), ("и\u{306}", "й"), ("か\u{3099}", "が"),
      ("ا\u{653}\u{645}", "آم"), ("क\u{93C}", "क\u{93C}"), ("न\u{93C}", "\u{929}"), ("ક\u{ABE}", "ક\u{ABE}"),
      ("\u{BC6}\u{BBE}", "\u{BCA}"), ("a\u{300}\u{300}", "à\u{300}"), ("ɔ\u{303}\u{331}", "ɔ\u{331}\u{303}"),
    ])
  func composition(written: String, composed: String) throws {
    // A vowel sign cannot begin a label.
    let (written, composed) = ("ab" + written, "ab" + composed)
    let isArabic = composed.unicodeScalars.contains { $0.value == 0x622 }
    let text = try HostName(isArabic ? String(written.dropFirst(2)) : written).text
    let label = try #require(Punycode.decode(Array(text.utf8.dropFirst(4))))
    #expect(label == Array((isArabic ? String(composed.dropFirst(2)) : composed).unicodeScalars))
  }

  @Test(
    "Characters that are valid only in context are checked",
    arguments: [
      ("ශ්\u{200D}රී.lk", true), ("نامه\u{200C}ای.com", true), ("क्\u{200C}ष.com", true), ("l·l.cat", true),
      ("a·b.cat", false), ("中・国.jp", true), ("a・b.jp", false), ("א׳.com", true), ("a׳.com", false),
      ("\u{375}α.gr", true), ("\u{375}a.gr", false), ("ا\u{200C}ب.com", false), ("ب\u{200C}.com", false),
      ("מזל-טוב.com", true), ("עברית1.com", true), ("א-.com", false), ("العربية.مصر", true), ("a-b.العربية", true),
    ])
  func context(text: String, isAccepted: Bool) throws {
    #expect(((try? HostName(text)) != nil) == isAccepted)
  }

  @Test("A name with an uncertain normal form can be written in ASCII")
  func uncertain() throws {
    let label = try #require(Punycode.encode(Array("ą\u{301}".unicodeScalars)))
    let host = "xn--" + String(decoding: label, as: UTF8.self)
    #expect(try HostName(host).text == host)
  }

  @Test(
    "Subdomains are compared label by label",
    arguments: [
      ("a.example.com", "example.com", true), ("a.b.example.com", "com", true), ("example.com", "example.com", false),
      ("badexample.com", "example.com", false), ("com", "example.com", false), ("a.example.com.", "EXAMPLE.com", true),
      ("a.bücher.de", "xn--bcher-kva.de", true), ("10.0.0.1", "0.0.1.example", false), ("::1", "a", false),
    ])
  func subdomains(host: String, domain: String, expected: Bool) throws {
    #expect(try HostName(host).isSubdomain(of: HostName(domain)) == expected)
  }

  @Test("IP addresses have no subdomains")
  func addresses() throws {
    #expect(try !HostName("1.1.1.1").isSubdomain(of: HostName("1.1.1.1")))
    #expect(try HostName("a.b.c").parent?.parent?.text == "c")
    #expect(try HostName("c").parent == nil)
    #expect(try HostName("1.1.1.1").parent == nil)
  }

  @Test("Host names are JSON strings and are checked when decoded")
  func codable() throws {
    let hosts = try JSONDecoder().decode([HostName].self, from: Data(#"["Bücher.example", "[::1]"]"#.utf8))
    #expect(hosts.map(\.text) == ["xn--bcher-kva.example", "::1"])
    #expect(String(decoding: try JSONEncoder().encode(hosts), as: UTF8.self) == #"["xn--bcher-kva.example","::1"]"#)
    let error = #expect(throws: DecodingError.self) {
      try JSONDecoder().decode([HostName].self, from: Data(#"["a:1"]"#.utf8))
    }
    #expect(error.map { "\($0)".contains("has a port") } == true)
  }
}
