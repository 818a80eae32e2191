// SPDX-License-Identifier: Apache-2.0

import Foundation
import LastroSupport
import Testing

@testable import Lastro
@testable import LastroEveryday

/// The rules of draft-ietf-httpbis-rfc6265bis §5.7 for the cookies that a server sets, one by one.
@Suite("Accepting cookies into a jar", .timeLimit(.minutes(15)))
struct CookieAdmissionTests {
  /// A line, the URL that it came from, and the reason why it is refused; `nil` if it is accepted.
  struct Case: Sendable, CustomTestStringConvertible {
    var line: String
    var url = "https://www.example.com/"
    var refusal: CookieRefusal?

    var testDescription: String { "\(line) from \(url)" }
  }

  static let lines: [Case] = [
    Case(line: "a=b"), Case(line: "a=b\u{0}", refusal: .controlCharacter), Case(line: ";", refusal: .empty),
    Case(line: "x", refusal: .nameless), Case(line: "=x", refusal: .nameless),
    Case(line: "a=" + String(repeating: "b", count: 4096), refusal: .tooLong),
  ]

  static let domains: [Case] = [
    Case(line: "a=b; domain=example.com"), Case(line: "a=b; domain=.example.com"),
    Case(line: "a=b; domain=WWW.Example.com"), Case(line: "a=b; domain="), Case(line: "a=b; domain=."),
    Case(line: "a=b; domain=example.com.", refusal: .invalidDomain),
    Case(line: "a=b; domain=com", refusal: .publicSuffix),
    Case(line: "a=b; domain=other.com", refusal: .foreignDomain),
    Case(line: "a=b; domain=x.www.example.com", refusal: .foreignDomain),
    Case(line: "a=b; domain=ample.com", refusal: .foreignDomain),
    Case(line: "a=b; domain=www.example.com:443", refusal: .invalidDomain),
    Case(line: "a=b; domain=co.uk", url: "https://www.example.co.uk/", refusal: .publicSuffix),
    Case(line: "a=b; domain=example.co.uk", url: "https://www.example.co.uk/"),
    Case(line: "a=b; domain=github.io", url: "https://me.github.io/", refusal: .publicSuffix),
    Case(line: "a=b; domain=github.io", url: "https://github.io/"),
    Case(line: "a=b; domain=localhost", url: "https://localhost/"),
    Case(line: "a=b; domain=xn--bcher-kva.example", url: "https://www.bücher.example/"),
    Case(line: "a=b; domain=bücher.example", url: "https://www.bücher.example/", refusal: .invalidDomain),
    Case(line: "a=b; domain=127.0.0.1", url: "https://127.0.0.1/"),
    Case(line: "a=b; domain=0.0.1", url: "https://127.0.0.1/", refusal: .invalidDomain),
    Case(line: "a=b; domain=127.0.0.2", url: "https://127.0.0.1/", refusal: .foreignDomain),
    Case(line: "a=b; domain=[2001:db8::1]", url: "https://[2001:DB8:0::1]/"),
  ]

  static let promises: [Case] = [
    Case(line: "a=b; Secure"), Case(line: "a=b; Secure", url: "http://www.example.com/", refusal: .secureInTheClear),
    Case(line: "a=b; Secure", url: "http://localhost/", refusal: .secureInTheClear),
    Case(line: "a=b; SameSite=None", refusal: .sameSiteNone), Case(line: "a=b; SameSite=None; Secure"),
    Case(line: "__Secure-a=b", refusal: .prefix), Case(line: "__sEcUrE-a=b", refusal: .prefix),
    Case(line: "__Secure-a=b; Secure; Domain=example.com; Path=/x", url: "https://www.example.com/x/"),
    Case(line: "__Host-a=b; Secure; Path=/"), Case(line: "__Host-a=b; Path=/", refusal: .prefix),
    Case(line: "__Host-a=b; Secure", refusal: .prefix), Case(line: "__Host-a=b; Secure; Path=/x", refusal: .prefix),
    Case(line: "__host-a=b; Secure; Path=/; Domain=www.example.com", refusal: .prefix),
    Case(line: "__Http-a=b; Secure", refusal: .prefix), Case(line: "__Http-a=b; Secure; HttpOnly"),
    Case(line: "__Host-Http-a=b; Secure; HttpOnly; Path=/"),
    Case(line: "__Host-Http-a=b; Secure; Path=/", refusal: .prefix),
    Case(line: "__Host-Http-a=b; Secure; HttpOnly", refusal: .prefix),
  ]

  @Test("A cookie is accepted by the rules of lines, domains and name prefixes", arguments: lines + domains + promises)
  func taken(_ one: Case) throws {
    let jar = TestJar()
    let expected: CookieVerdict.Outcome = one.refusal.map { .refused($0) } ?? .stored
    #expect(try jar.set(one.line, from: one.url) == expected)
    #expect(jar.jar.cookies.count == (one.refusal == nil ? 1 : 0))
    #expect(try jar.sent(to: one.url).isEmpty == (one.refusal != nil))
  }

  @Test("A public suffix that sets a cookie for itself gets a host-only cookie")
  func suffixItself() throws {
    let jar = TestJar()
    try jar.set("a=b; domain=github.io", from: "https://github.io/")
    #expect(try jar.sent(to: "https://github.io/") == "a=b")
    #expect(try jar.sent(to: "https://me.github.io/") == "")
    #expect(jar.jar.cookies.first?.isHostOnly == true)
  }

  @Test("Without a public suffix list single labels are refused, and co.uk is not")
  func withoutList() throws {
    let jar = TestJar(suffixes: PublicSuffixList(text: ""))
    #expect(try jar.set("a=b; domain=uk", from: "https://www.example.co.uk/") == .refused(.publicSuffix))
    #expect(try jar.set("a=b; domain=co.uk", from: "https://www.example.co.uk/") == .stored)
  }

  @Test("Nameless cookies are accepted only by a rule, and never with a value that begins like a prefix")
  func nameless() throws {
    var rules = CookieRules.standard
    rules.acceptsNameless = true
    let jar = TestJar(rules)
    #expect(try jar.set("x") == .stored)
    #expect(try jar.set("=__Secure-a; Secure") == .refused(.prefix))
    #expect(try jar.set("__hOsT-a=") == .refused(.prefix))
    #expect(try jar.set("=__host-a=b; Secure; Path=/") == .refused(.prefix))
    #expect(try jar.sent() == "x")
  }

  @Test("Loopback counts as secure only by a rule")
  func loopback() throws {
    var rules = CookieRules.standard
    rules.treatsLoopbackAsSecure = true
    for url in ["http://localhost:8080/", "http://127.0.0.1/", "http://[::1]/", "http://api.localhost/"] {
      let jar = TestJar(rules)
      #expect(try jar.set("a=b; Secure", from: url) == .stored)
      #expect(try jar.sent(to: url) == "a=b")
    }
    #expect(try TestJar(rules).set("a=b; Secure", from: "http://www.example.com/") == .refused(.secureInTheClear))
  }

  @Test(
    "Over http no cookie may hide a Secure one of the same name, matching domain and covering path",
    arguments: [
      ("a=2; path=/sub", "http://www.example.com/", false), ("a=2; path=/sub/deeper", "http://www.example.com/", false),
      ("a=2; path=/sub; domain=example.com", "http://www.example.com/", false),
      ("a=2; path=/sub", "http://x.www.example.com/", false), ("a=2; path=/", "http://www.example.com/", true),
      ("a=2; path=/submarine", "http://www.example.com/", true), ("b=2; path=/sub", "http://www.example.com/", true),
      ("a=2; path=/sub", "http://mail.example.com/", true), ("a=2; path=/sub", "https://www.example.com/", true),
    ])
  func overSecure(line: String, url: String, isTaken: Bool) throws {
    let jar = TestJar()
    try jar.set("a=1; Secure; Path=/sub; Domain=www.example.com")
    #expect(try jar.set(line, from: url) == (isTaken ? .stored : .refused(.overSecure)))
    #expect(jar.jar.cookies.count == (isTaken ? 2 : 1))
  }

  @Test("An expired Secure cookie blocks no other of its name")
  func expiredSecure() throws {
    let jar = TestJar()
    try jar.set("a=1; Secure; Max-Age=60")
    #expect(try jar.set("a=2", from: "http://www.example.com/") == .refused(.overSecure))
    jar.advance(by: 60)
    #expect(try jar.set("a=2", from: "http://www.example.com/") == .stored)
    #expect(try jar.sent(to: "http://www.example.com/") == "a=2")
  }

  @Test("Names and paths are compared by bytes, whatever their Unicode composition")
  func bytes() throws {
    let jar = TestJar(), composed = "\u{E9}", decomposed = "e\u{301}"
    try jar.set("\(composed)=1; Secure")
    #expect(try jar.set("\(decomposed)=2", from: "http://www.example.com/") == .stored)
    for (value, path) in [(3, composed), (4, decomposed)] { try jar.set("p=\(value); Path=/\(path)") }
    #expect(jar.jar.cookies.map { $0.value.reveal() } == ["1", "2", "3", "4"])
    #expect(try jar.sent() == "\(composed)=1; \(decomposed)=2")
  }

  @Test(
    "The same cookie is replaced and keeps its creation time; another domain, host-only flag or path is another cookie")
  func replaced() throws {
    let jar = TestJar()
    try jar.set("a=1")
    jar.advance(by: 10)
    try jar.set("b=1")
    #expect(try jar.set("a=2; HttpOnly") == .stored)
    #expect(try jar.set("a=2; HttpOnly") == .renewed)
    #expect(try jar.sent() == "a=2; b=1")
    let cookie = try #require(jar.jar.cookies.first)
    #expect(cookie.created == Date(timeIntervalSince1970: TestJar.epoch) && cookie.isHTTPOnly)
    try jar.set("a=3; Domain=www.example.com")
    try jar.set("a=4; Domain=example.com")
    try jar.set("a=5; Path=/x")
    #expect(jar.jar.cookies.map { $0.value.reveal() } == ["2", "1", "3", "4", "5"])
  }

  @Test(
    "Max-Age takes precedence over Expires, 400 days is the maximum, and an expired cookie removes the existing one")
  func expiry() throws {
    let jar = TestJar()
    try jar.set("a=1; Expires=1 Jan 1990 00:00:00; Max-Age=60")
    try jar.set("b=1; Max-Age=99999999999999999999")
    try jar.set("c=1; Expires=31 Dec 9999 00:00:00")
    try jar.set("d=1; Expires=1 Jan 1990 00:00:00; Max-Age=x")
    #expect(try jar.set("e=1; Max-Age=0") == .expired)
    #expect(try jar.sent() == "a=1; b=1; c=1")
    let most = Date(timeIntervalSince1970: TestJar.epoch + 400 * 86_400)
    #expect(jar.jar.cookies.map(\.expiry) == [Date(timeIntervalSince1970: TestJar.epoch + 60), most, most])
    jar.advance(by: 60)
    #expect(try jar.sent() == "b=1; c=1")
    #expect(try jar.set("b=; Max-Age=-1") == .removed)
    #expect(jar.jar.cookies.map(\.name) == ["c"])
  }
}

/// A jar on a clock of its own, with a small list of public suffixes.
struct TestJar {
  static let suffixes = PublicSuffixList(text: "com\norg\nuk\nco.uk\nexample\ngithub.io\n")
  static let epoch: TimeInterval = 1_000_000_000

  let jar: CookieJar
  private let seconds: Lock<TimeInterval>

  init(
    _ rules: CookieRules = .standard, at start: TimeInterval = epoch, suffixes: PublicSuffixList = suffixes
  ) {
    let seconds = Lock(start)
    self.seconds = seconds
    let time = TimeSource(
      now: { .seconds(seconds.withLock { $0 }) }, sleep: { _ in },
      sinceEpoch: { .seconds(seconds.withLock { $0 }) })
    jar = CookieJar(rules: rules, store: nil, time: time, suffixes: suffixes)
  }

  func advance(by more: TimeInterval) { seconds.withLock { $0 += more } }

  /// Receives one line, and returns its outcome.
  @discardableResult
  func set(_ line: String, from url: String = "https://www.example.com/") throws -> CookieVerdict.Outcome? {
    try jar.receive([Array(line.utf8)], from: CookieSource(url: url, jar.rules)).first?.outcome
  }

  /// Returns the value of `Cookie` in a request to a URL.
  func sent(to url: String = "https://www.example.com/") throws -> String {
    jar.selection(for: try CookieSource(url: url, jar.rules), isUse: true).field
  }
}
