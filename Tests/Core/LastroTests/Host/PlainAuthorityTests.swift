// SPDX-License-Identifier: Apache-2.0

import ConformanceData
import FoundationEssentials
import HTTPTypes
import Lastro
import TestSupport
import Testing

/// Hosts are read in two ways: in one pass over bytes if they are plain, and otherwise by the rules of IDNA. Callers
/// must not notice the difference.
@Suite("Fast path for plain authorities", .timeLimit(.minutes(15)))
struct PlainAuthorityTests {
  /// The result of reading a text. Errors are compared by their texts, too.
  private enum Outcome: Equatable {
    case read(String, isAddress: Bool? = nil, port: Int? = nil)
    case refused(String)

    init(_ read: () throws -> Outcome) {
      do { self = try read() } catch { self = .refused("\(error)") }
    }

    static func authority(_ read: () throws -> Authority) -> Outcome {
      Outcome {
        let authority = try read()
        return .read(authority.host, port: authority.port)
      }
    }

    static func name(_ read: () throws -> (text: String, isAddress: Bool)) -> Outcome {
      Outcome {
        let name = try read()
        return .read(name.text, isAddress: name.isAddress)
      }
    }

    static func target(_ read: () throws -> RequestTarget) -> Outcome {
      Outcome {
        let target = try read()
        return .read("\(target.scheme) \(target.authority) \(target.path) \(target.query ?? "none")")
      }
    }

    static func check(_ authority: String, _ read: (String) throws -> Void) -> Outcome {
      Outcome {
        try read(authority)
        return .read(authority)
      }
    }
  }

  /// Checks an authority as the request's check does, but with the general reader alone.
  private func checkedInFull(_ authority: String) throws {
    guard !authority.isEmpty else {
      throw TransportError.invalidURL("the request has no authority", hint: "set HOST or HOST:PORT")
    }
    if let byte = authority.utf8.first(where: { $0 <= 0x20 || $0 == 0x7F }) {
      throw TransportError.invalidURL(
        "the authority has a \(byte == 0x20 ? "space" : "control character")", hint: "remove it")
    }
    let host = try Authority.general(authority[...]).host
    guard authority.utf8.allSatisfy({ $0 < 0x80 && $0 != UInt8(ascii: "%") }) else {
      throw TransportError.invalidURL(
        "the request's authority is not in its ASCII form", hint: "write \(host), or make the request from its URL")
    }
  }

  private func check(_ authority: String) throws {
    let head = HTTPRequest(method: .get, scheme: "https", authority: authority, path: "/")
    try RequestCheck.check(ResourceRequest(head: head))
  }

  /// Compares both ways for a URL. Control characters and spaces are refused before either way is chosen.
  private func expectSameTarget(_ url: String) {
    guard url.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else { return }
    let expected = Outcome.target {
      do throws(TransportError) {
        return try RequestTarget.general(url)
      } catch {
        throw error.naming(url)
      }
    }
    if Outcome.target({ try RequestTarget(url) }) != expected {
      Issue.record("\(url.debugDescription): \(expected)")
    }
  }

  private func expectSame(_ text: String) {
    let expected = Outcome.authority { try Authority.general(text[...]) }
    let inside = ("//" + text + "/").dropFirst(2).dropLast()
    let isSame =
      Outcome.authority { try Authority(text[...]) } == expected
      && (!inside.utf8.elementsEqual(text.utf8) || Outcome.authority { try Authority(inside) } == expected)
      && Outcome.name { try HostReader.name(text) } == Outcome.name { try HostReader.generalName(text) }
    // A field's value cannot hold every text.
    let held = HTTPRequest(method: .get, scheme: nil, authority: text, path: nil).authority ?? ""
    let isSameCheck = Outcome.check(held, check) == Outcome.check(held, checkedInFull)
    if !isSame || !isSameCheck { Issue.record("\(text.debugDescription): \(expected)") }
  }

  @Test(
    "Authorities at the edges of the rules are parsed as by the full parser",
    arguments: [
      "a", "A", "a.b", "A.b:80", "a:", "a:0", "a:1", "a:65535", "a:65536", "a:00080", "a:000080", "a:8x", "a:+8",
      "a:-1",
      "a::1", ":80", ":", "", ".", "a.", "a..b", ".a", "a.:80", "-a-", "a_b~c", "ab--cd", "xn--a", "XN--a", "xN--",
      "xn-",
      "xxn--a", "a.xn--p1ai", "a.xn--", "xn--bcher-kva", "1.2.3.4", "1.2.3.4:80", "1.2.3.4.", "01.2.3.4", "00.0.0.0",
      "0.0.0.0", "255.255.255.255", "256.0.0.1", "1.2.3", "1.2.3.4.5", "a.1", "1a", "a.1a", "1a.b", "0x7f", "a.0x",
      "a.0xg", "a.x0", "1.2.3.4a", "1.2.3.a", "9999", "a b", "a\tb", "a\u{0}b", "a\u{7F}", "a%41", "a%2E", "%", "u@a",
      "a:8@b", "[::1]", "[::1]:443", "[::1", "a]b", "ü", "\u{212A}", "a\u{301}", "Ａ", "a/b", "a?b", "a#b", "a,b", "a*b",
      String(repeating: "a", count: 63), String(repeating: "a", count: 64), String(repeating: "a", count: 513),
      String(repeating: "ab.", count: 84) + "c", String(repeating: "ab.", count: 84) + "cd",
      String(repeating: "ab.", count: 84) + "c:443", String(repeating: "1.", count: 126) + "1",
    ])
  func edges(text: String) {
    expectSame(text)
    for scheme in ["http://", "https://"] {
      for tail in ["", "/", "/a?b=%20#c", "?", "?a?b#", "#a?b", "/%zz"] { expectSameTarget(scheme + text + tail) }
    }
  }

  @Test(
    "Schemes are parsed as by the full parser",
    arguments: [
      "", "http", "http:", "https:/", "https:/a", "https://", "http:///", "https://?", "http://#", "HTTPS://a/",
      "ftp://a/",
      "mailto:a", "//a/", "httpss://a/", "http//a", "1http://a/", "https://a",
    ])
  func schemes(url: String) { expectSameTarget(url) }

  @Test("20,000 random authorities are parsed as by the full parser")
  func generated() async {
    var random = SeededGenerator(seed: 0x1A57)
    var read = 0
    for index in 0..<20_000 {
      let text = Self.text(&random)
      let expected = Outcome.authority { try Authority.general(text[...]) }
      if Outcome.authority({ try Authority(text[...]) }) != expected {
        Issue.record("\(text.debugDescription): \(expected)")
      }
      if case .read = expected { read += 1 }
      // The checks of URLs take longer, so they run for fewer cases.
      guard index % 10 == 0 else { continue }
      await Task.yield()
      expectSame(text)
      expectSameTarget((random.below(9) == 0 ? "HTTP" : "https") + "://" + text + Self.tail(&random))
      expectSameTarget("http://host:" + ["", "80", "443", "080", "8080"][random.below(5)] + Self.tail(&random))
    }
    // Both accepted and refused texts occurred often enough.
    #expect((4_000...16_000).contains(read), "\(read)")
  }

  private static let pieces = [
    ".", ".", ".", ".", "-", "--", "xn--", "XN--", "_", "~", "0", "1", "25", "255", "256", "01", "0x", "a", "b", "com",
    "example", "WWW", "Z", "bcher-kva", "p1ai", "ü", "日", "\u{301}", "\u{212A}", "%61", "%2e", "%", "@", "*", " ",
    "\u{0}", "\t", "\u{7F}", "[", "]", "/",
  ]

  /// Returns random text: mostly letters, digits and dots, and sometimes any character.
  private static func text(_ random: inout SeededGenerator) -> String {
    var text = ""
    switch random.below(4) {
    case 0:
      text = (0..<4 + random.below(8) / 7).map { _ in "\(random.below(300))" }.joined(separator: ".")
    case 1:
      text = (0...random.below(4)).map { _ in label(&random) }.joined(separator: ".")
    case 2:
      for _ in 0...random.below(5) { text += pieces[random.below(25)] }
    default:
      for _ in 0...random.below(6) { text += pieces[random.below(pieces.count)] }
    }
    if random.below(40) == 0 { text += "." }
    if random.below(3) == 0 { text += ":" + (random.below(8) == 0 ? "" : "\(random.below(70_000))") }
    return text
  }

  /// Returns a random path, query and fragment.
  private static func tail(_ random: inout SeededGenerator) -> String {
    let pieces = [
      "a", "b1", "-._~", "/", "//", "?", "#", "%41", "%", "%4", "%g1", "!$&'()*+,;=:@", "[", "\"", "ü", "..", "|", "\\",
    ]
    // Most tails are valid.
    let limit = random.below(3) == 0 ? pieces.count : 8
    var tail = random.below(8) == 0 ? "" : ["/", "/", "?", "#"][random.below(4)]
    for _ in 0..<random.below(6) { tail += pieces[random.below(limit)] }
    return tail
  }

  private static func label(_ random: inout SeededGenerator) -> String {
    let letters = Array("abcdefghijklmnopqrstuvwxyzABC0123456789-_~".unicodeScalars)
    let length = random.below(20) == 0 ? 55 + random.below(12) : 1 + random.below(10)
    var label = String.UnicodeScalarView()
    for _ in 0..<length { label.append(letters[random.below(letters.count)]) }
    return String(label)
  }

  @Test("The test data of public suites is parsed as by the full parser")
  func conformance() throws {
    let names = try ConformanceData.file("url/toascii.json")
    for item in try JSONDecoder().decode([CommentOr<IDNAConformanceTests.Case>].self, from: names) {
      if case .item(let item) = item { expectSame(item.input) }
    }
    let urls = try ConformanceData.file("url/urltestdata.json")
    for item in try JSONDecoder().decode([CommentOr<WHATWGURLTests.Case>].self, from: urls) {
      guard case .item(let item) = item else { continue }
      expectSame(item.input)
      expectSameTarget(item.input)
      let parts = item.input.split(separator: "/", omittingEmptySubsequences: false)
      if parts.count > 2 { expectSame(String(parts[2])) }
    }
  }
}

extension SeededGenerator {
  fileprivate mutating func below(_ limit: Int) -> Int { Int.random(in: 0..<limit, using: &self) }
}
