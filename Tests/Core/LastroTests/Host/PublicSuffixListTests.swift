// SPDX-License-Identifier: Apache-2.0

import ConformanceData
import FoundationEssentials
import Lastro
import Testing

@Suite("Public suffixes")
struct PublicSuffixListTests {
  static let sample = PublicSuffixList(
    text: """
      // ===BEGIN ICANN DOMAINS===
      com   a remark
      uk
      co.uk\r
      *.ck
      !www.ck

      食狮.example
      xn--55qx5d.cn
      // ===END ICANN DOMAINS===
      // ===BEGIN PRIVATE DOMAINS===
      github.io
      *.wild.example
      wild.example
      // ===END PRIVATE DOMAINS===
      """)

  static func domain(_ host: String, in list: PublicSuffixList = sample) throws -> String? {
    try list.registrableDomain(of: HostName(host))?.text
  }

  @Test(
    "The rule with the most labels applies, and exceptions come first",
    arguments: [
      ("com", nil), ("example.com", "example.com"), ("a.b.example.com.", "example.com"), ("co.uk", nil),
      ("uk", nil), ("a.uk", "a.uk"), ("www.a.co.uk", "a.co.uk"), ("ck", nil), ("a.ck", nil), ("b.a.ck", "b.a.ck"),
      ("www.ck", "www.ck"), ("x.www.ck", "www.ck"), ("食狮.example", nil), ("a.xn--85x722f.example", "a.食狮.example"),
      ("公司.cn", nil), ("a.b.公司.cn", "b.公司.cn"), ("a.github.io", "a.github.io"), ("github.io", nil),
      ("wild.example", nil), ("a.wild.example", nil), ("b.a.wild.example", "b.a.wild.example"), ("cn", nil),
      ("nowhere", nil), ("a.b.nowhere", "b.nowhere"), ("1.2.3.4", nil), ("::1", nil),
    ] as [(String, String?)])
  func rules(host: String, expected: String?) throws {
    #expect(try Self.domain(host) == expected.map { try HostName($0).text })
    let name = try HostName(host)
    #expect(Self.sample.isPublicSuffix(name) == (expected == nil && !name.isIPAddress))
  }

  @Test("Lines that are not rules are skipped and counted")
  func broken() {
    let list = PublicSuffixList(text: "a..b\n*.\na b\n.com\nx.*.y\n!\nxn--a\n1.2.3.4\n\u{FFFD}.com\ncom\n \tnet\n//\n/")
    #expect(list.ruleCount == 2 && !list.isEmpty)
    #expect(list.skipped == ["a..b", "*.", ".com", "x.*.y", "!", "xn--a", "1.2.3.4", "\u{FFFD}.com"])
    #expect(Self.sample.ruleCount == 10 && Self.sample.skipped.isEmpty)
  }

  @Test("With an empty list every single label is a public suffix")
  func empty() throws {
    let list = PublicSuffixList(text: "")
    #expect(list.isEmpty)
    #expect(try list.isPublicSuffix(HostName("uk")))
    #expect(try !list.isPublicSuffix(HostName("co.uk")))
    #expect(try Self.domain("a.co.uk", in: list) == "co.uk")
  }

  @Test("No rule of the system's list is skipped")
  func system() throws {
    #expect(PublicSuffixList.system.skipped == [])
    #expect(PublicSuffixList.system.ruleCount > 9_000)
    for suffix in ["com", "co.uk", "github.io", "xn--fiqs8s", "xn--j1amh"] {
      #expect(try PublicSuffixList.system.isPublicSuffix(HostName(suffix)), "\(suffix)")
    }
  }

  @Test("All of publicsuffix.org's own cases pass")
  func ownCases() throws {
    let text = String(decoding: try ConformanceData.file("publicsuffix/tests.txt"), as: UTF8.self)
    var count = 0
    for line in text.split(whereSeparator: \.isNewline) where !line.hasPrefix("//") {
      let fields = line.split(separator: " ").map(String.init)
      try #require(fields.count == 2)
      count += 1
      // The name is not a host, because a label is empty.
      guard let host = try? HostName(fields[0]) else {
        #expect(fields[1] == "null" && fields[0].hasPrefix("."))
        continue
      }
      let domain = PublicSuffixList.system.registrableDomain(of: host)
      #expect(domain == (fields[1] == "null" ? nil : try HostName(fields[1])), "\(line)")
      #expect(PublicSuffixList.system.isPublicSuffix(host) == (fields[1] == "null"), "\(line)")
    }
    #expect(count == 78)
  }
}
