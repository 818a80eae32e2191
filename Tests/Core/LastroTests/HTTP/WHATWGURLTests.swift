// SPDX-License-Identifier: Apache-2.0

import ConformanceData
import FoundationEssentials
import Lastro
import Testing

/// The absolute `http` and `https` URLs of the WHATWG URL standard's test data from web-platform-tests.
@Suite("WHATWG URLs")
struct WHATWGURLTests {
  struct Case: Decodable {
    var input: String
    var base: String?
    var failure: Bool?
    var `protocol`: String?
    var host: String?
    var pathname: String?
    var search: String?

    /// The expected URL without fragment and user information, which are never sent; `nil` for a failure.
    var url: String? {
      guard failure != true, let `protocol`, let host, let pathname, let search else { return nil }
      return "\(`protocol`)//\(host)\(pathname)\(search)"
    }

    var isHTTP: Bool {
      base == nil
        && (failure == true ? input.lowercased().hasPrefix("http") : ["http:", "https:"].contains(`protocol`))
    }
  }

  @Test("Each URL is parsed as the standard says, except for the listed differences")
  func urls() throws {
    let entries = try JSONDecoder().decode([CommentOr<Case>].self, from: ConformanceData.file("url/urltestdata.json"))
    let cases = entries.compactMap { if case .item(let item) = $0, item.isHTTP { item } else { nil } }
    #expect(cases.count == 280)
    var differences: [String: String?] = [:]
    for item in cases {
      var ours: String?
      do {
        let request = try ResourceRequest(url: item.input)
        try RequestCheck.check(request)
        ours = request.wire
      } catch {
        #expect(error.stage == .request && error.code == .invalidURL)
      }
      if ours != item.url { differences[item.input] = .some(ours) }
    }
    let expected = Dictionary(WHATWGDifferences.all.map { ($0.input, $0.ours) }) { first, _ in first }
    #expect(expected.count == WHATWGDifferences.all.count)
    for (input, ours) in differences where expected[input] != .some(ours) {
      Issue.record("\(input.debugDescription) is read as \(ours ?? "nothing"), which is not listed")
    }
    for input in expected.keys where differences[input] == nil {
      Issue.record("\(input.debugDescription) is listed but does not differ")
    }
  }
}

/// The URLs that we deliberately read in a way other than the WHATWG standard, by reason. `nil` means that we refuse
/// the URL.
private enum WHATWGDifferences {
  /// We refuse user information instead of discarding it, because it would be lost or end up in a log.
  static let userInformation: [(input: String, ours: String?)] = [
    ("https://test:@test", nil),
    ("https://:@test", nil),
    ("http://é@é", nil),
    ("http://é@example.com", nil),
    ("http://a:b@c\\", nil),
    ("http://%25DOMAIN:foobar@foodomain.com/", nil),
    ("http:@www.example.com", nil),
    ("http:/@www.example.com", nil),
    ("http://@www.example.com", nil),
    ("http:a:b@www.example.com", nil),
    ("http:/a:b@www.example.com", nil),
    ("http://a:b@www.example.com", nil),
    ("http://@pple.com", nil),
    ("http::b@www.example.com", nil),
    ("http:/:b@www.example.com", nil),
    ("http://:b@www.example.com", nil),
    ("http:a:@www.example.com", nil),
    ("http:/a:@www.example.com", nil),
    ("http://a:@www.example.com", nil),
    ("http://www.@pple.com", nil),
    ("http://:@www.example.com", nil),
    ("http://😀x@host/", nil),
    ("http://a:😀x@host/", nil),
    ("http://😀@host/", nil),
  ]

  /// We refuse control characters and spaces instead of removing or encoding them, in the fragment too.
  static let controlCharacters: [(input: String, ours: String?)] = [
    ("http://example.com/foo\t%91", nil),
    ("http://example.com/foo\tbar", nil),
    ("http://www.google.com/foo?bar=baz# »", nil),
    ("\0\u{1B}\u{04}\u{12} http://example.com/\u{1F} \r ", nil),
    ("http://ho\tst/", nil),
    ("http://ho\nst/", nil),
    ("http://ho\rst/", nil),
    ("h\tt\nt\rp://h\to\ns\rt:9\t0\n0\r0/p\ta\nt\rh?q\tu\ne\rry#f\tr\na\rg", nil),
    ("http://foo.bar/baz?qux#foo\u{08}bar", nil),
    ("http://example.org/test?a#b\0c", nil),
    ("https://www.example.com/path{\u{7F}path.html?query'\u{7F}=query#fragment<\u{7F}fragment", nil),
    ("https://x/\0y", nil),
    ("https://x/?\0y", nil),
    ("https://x/?#\0y", nil),
  ]

  /// We require exactly two slashes after the scheme, and do not treat a backslash as a slash.
  static let slashes: [(input: String, ours: String?)] = [
    ("http://example.com\\\\foo\\\\bar", nil),
    ("http:\\\\www.google.com\\foo", nil),
    ("http:/example.com/", nil),
    ("https:/example.com/", nil),
    ("http:example.com/", nil),
    ("https:example.com/", nil),
  ]

  /// We accept hosts that are DNS names, IPv4 addresses in the usual form, or IDNA letters that need no mapping.
  static let hosts: [(input: String, ours: String?)] = [
    ("http://192.0x00A80001", nil),
    ("http://!\"$&'()*+,-.;=_`{}~/", nil),
    ("https://%e2%98%83", nil),
    ("https://0x.0x.0", nil),
    ("https://0x.0x.0x.0x", nil),
    ("https://00.00.00.00", nil),
    ("https://0000000000000000000000000000000000000000177.0.0.1", nil),
    ("https://a%C2%ADb/", nil),
  ]

  /// We refuse empty labels, and labels that begin with `xn--` without being internationalized.
  static let labels: [(input: String, ours: String?)] = [
    ("http://./", nil),
    ("http://../", nil),
    ("http://foo.09..", nil),
    ("https://xn--/", nil),
    ("http://a.b.c.xn--pokxncvks", nil),
    ("http://a.b.c.XN--pokxncvks", nil),
    ("http://a.b.c.Xn--pokxncvks", nil),
    ("http://10.0.0.xn--pokxncvks", nil),
    ("http://10.0.0.XN--pokxncvks", nil),
    ("http://10.0.0.xN--pokxncvks", nil),
  ]

  /// We keep dot segments: the path stays as it was written.
  static let dotSegments: [(input: String, ours: String?)] = [
    ("http://example.com/././foo", "http://example.com/././foo"),
    ("http://example.com/./.foo", "http://example.com/./.foo"),
    ("http://example.com/foo/.", "http://example.com/foo/."),
    ("http://example.com/foo/./", "http://example.com/foo/./"),
    ("http://example.com/foo/bar/..", "http://example.com/foo/bar/.."),
    ("http://example.com/foo/bar/../", "http://example.com/foo/bar/../"),
    ("http://example.com/foo/bar/../ton", "http://example.com/foo/bar/../ton"),
    ("http://example.com/foo/bar/../ton/../../a", "http://example.com/foo/bar/../ton/../../a"),
    ("http://example.com/foo/../../..", "http://example.com/foo/../../.."),
    ("http://example.com/foo/../../../ton", "http://example.com/foo/../../../ton"),
    ("http://example.com/foo/%2e", "http://example.com/foo/%2e"),
    ("http://example.com/foo/%2e%2", "http://example.com/foo/%2e%252"),
    ("http://example.com/foo/%2e./%2e%2e/.%2e/%2e.bar", "http://example.com/foo/%2e./%2e%2e/.%2e/%2e.bar"),
    ("http://example.com////../..", "http://example.com////../.."),
    ("http://example.com/foo/bar//../..", "http://example.com/foo/bar//../.."),
    ("http://example.com/foo/bar//..", "http://example.com/foo/bar//.."),
    ("http://www/foo/%2E/html", "http://www/foo/%2E/html"),
    ("https://example.com/aaa/bbb/%2e%2e?query", "https://example.com/aaa/bbb/%2e%2e?query"),
  ]

  /// We encode a stray %, do not encode an apostrophe, and keep an empty query.
  static let encoding: [(input: String, ours: String?)] = [
    ("http://example.com/foo%", "http://example.com/foo%25"),
    ("http://example.com/foo%2", "http://example.com/foo%252"),
    ("http://example.com/foo%2zbar", "http://example.com/foo%252zbar"),
    ("http://example.com/foo%2Â©zbar", "http://example.com/foo%252%C3%82%C2%A9zbar"),
    ("http://host/?'", "http://host/?'"),
    ("http://example.org/test?#", "http://example.org/test?"),
    ("http://example.org/test?%GH", "http://example.org/test?%25GH"),
    ("https://x/?#\u{FFFF}y", "https://x/?"),
  ]

  static let all = userInformation + controlCharacters + slashes + hosts + labels + dotSegments + encoding
}
