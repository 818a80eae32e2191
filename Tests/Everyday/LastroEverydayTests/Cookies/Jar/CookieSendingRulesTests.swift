// SPDX-License-Identifier: Apache-2.0

import Foundation
import Lastro
import Testing

@testable import LastroEveryday

/// The rules for the cookies that a request carries, and for their order (draft-ietf-httpbis-rfc6265bis §5.8.3).
@Suite("Selecting cookies to send", .timeLimit(.minutes(15)))
struct CookieSendingRulesTests {
  @Test(
    "Cookies are selected by host, path and scheme",
    arguments: [
      ("https://www.example.com/", "host=1; domain=1; secure=1"), ("http://www.example.com/", "host=1; domain=1"),
      ("https://x.www.example.com/", "domain=1"), ("https://example.com/", "domain=1"),
      ("https://badexample.com/", ""), ("https://www.example.com:8443/", "host=1; domain=1; secure=1"),
      ("https://WWW.EXAMPLE.COM./docs", "path=1; host=1; domain=1; secure=1"),
      ("https://www.example.com/docs/a?b=/c", "path=1; host=1; domain=1; secure=1"),
      ("https://www.example.com/docsA", "host=1; domain=1; secure=1"),
      ("https://www.example.com/?/docs", "host=1; domain=1; secure=1"),
    ])
  func scope(url: String, expected: String) throws {
    let jar = TestJar()
    for line in ["host=1", "domain=1; Domain=example.com", "secure=1; Secure", "path=1; Path=/docs"] {
      try jar.set(line)
    }
    #expect(try jar.sent(to: url) == expected)
    #expect(try jar.jar.cookies(for: url).map { "\($0.name)=1" }.joined(separator: "; ") == expected)
  }

  @Test("Longer paths come first, then the earlier creation, which a new value keeps")
  func order() throws {
    let jar = TestJar()
    for line in ["a=1; Path=/", "b=1; Path=/x/y", "c=1; Path=/x", "d=1; Path=/"] { try jar.set(line) }
    try jar.set("a=2; Path=/")
    #expect(try jar.sent(to: "https://www.example.com/x/y/z") == "b=1; c=1; a=2; d=1")
  }

  @Test("A cookie without room in the field stays in the jar and is reported")
  func room() throws {
    let jar = TestJar(CookieRules(maximumFieldBytes: 4096))
    for name in ["a", "b", "c"] { try jar.set("\(name)=" + String(repeating: "v", count: 2000)) }
    let source = try CookieSource(url: "https://www.example.com/", jar.jar.rules)
    let selection = jar.jar.selection(for: source, isUse: true)
    #expect(selection.cookies.map(\.name) == ["a", "b"] && selection.leftOut == 1)
    #expect(selection.field.utf8.count == 4006)
    #expect(jar.jar.cookies.count == 3)
  }

  @Test("A domain over its limit loses expired cookies first, then insecure ones, each by last use")
  func crowdedDomain() throws {
    let jar = TestJar(CookieRules(maximumCookiesPerDomain: 50))
    try jar.set("short=1; Max-Age=5; Secure")
    for number in 0..<49 { try jar.set("c\(number)=1; \(number == 20 || number == 30 ? "" : "Secure")") }
    // Two cookies are not secure. One of them is used again before the next eviction.
    jar.advance(by: 6)
    try jar.set("new0=1; Secure")
    #expect(jar.jar.cookies.count == 50 && !jar.jar.cookies.contains { $0.name == "short" })
    try jar.set("c20=1")
    try jar.set("new1=1; Secure", from: "https://mail.example.com/")
    #expect(!jar.jar.cookies.contains { $0.name == "c30" } && jar.jar.cookies.contains { $0.name == "c20" })
    try jar.set("new2=1; Secure")
    #expect(!jar.jar.cookies.contains { $0.name == "c20" })
    try jar.set("new3=1; Secure")
    #expect(!jar.jar.cookies.contains { $0.name == "c0" } && jar.jar.cookies.count == 50)
  }

  @Test("A jar over its limit loses expired cookies first, then the least recently used")
  func crowdedJar() throws {
    let jar = TestJar()
    for number in 0..<2998 { try jar.set("a=\(number)", from: "https://host\(number).com/") }
    try jar.set("a=1; Max-Age=5", from: "https://short.com/")
    #expect(try jar.sent(to: "https://host0.com/") == "a=0")
    try jar.set("a=1", from: "https://next.com/")
    #expect(jar.jar.cookies.count == 3000)
    jar.advance(by: 6)
    try jar.set("a=1", from: "https://third.com/")
    #expect(jar.jar.cookies.count == 3000)
    #expect(try jar.sent(to: "https://host1.com/") == "a=1")
    // The least recently used cookies are evicted first. The cookies of host0 and host1 were used after they had been
    // set.
    for number in 0..<2 { try jar.set("a=1", from: "https://more\(number).com/") }
    #expect(try jar.sent(to: "https://host2.com/") == "")
    #expect(try jar.sent(to: "https://host0.com/") == "a=0")
  }

  @Test("Ten thousand cookies are found by their domains")
  func many() throws {
    let jar = TestJar(CookieRules(maximumCookies: 10_000))
    for number in 0..<10_000 { try jar.set("n=\(number); Domain=d\(number).com", from: "https://www.d\(number).com/") }
    for number in stride(from: 0, to: 10_000, by: 7) {
      #expect(try jar.sent(to: "https://a.b.d\(number).com/") == "n=\(number)")
    }
    #expect(try jar.sent(to: "https://d10000.com/") == "")
  }

  @Test(
    "A URL that cannot be fetched is refused",
    arguments: ["", "www.example.com", "ftp://a/", "https://u:p@a/", "wss://a/"])
  func urls(url: String) {
    let jar = TestJar()
    #expect(throws: TransportError.self) { try jar.jar.cookies(for: url) }
    #expect(throws: TransportError.self) { try jar.jar.receive(["a=b"], from: url) }
  }

  @Test("Cookies without expiry, and others, are removed by a condition")
  func removing() throws {
    let jar = TestJar()
    for line in ["a=1", "b=1; Max-Age=60", "c=1; Max-Age=60"] { try jar.set(line) }
    jar.jar.remove { $0.expiry == nil }
    jar.jar.remove { $0.name == "c" }
    #expect(try jar.sent() == "b=1")
    #expect("\(jar.jar)" == "a jar with 1 cookie")
  }

  @Test("No description shows a value")
  func masked() throws {
    let jar = TestJar()
    try jar.set("session=hunter2; Secure; Max-Age=60")
    let cookie = try #require(jar.jar.cookies.first)
    var dumped = ""
    dump(jar.jar.cookies, to: &dumped)
    for text in ["\(cookie)", "\(jar.jar)", dumped, String(reflecting: cookie)] { #expect(!text.contains("hunter2")) }
    #expect("\(cookie)" == "session of www.example.com/, secure, until 2001-09-09T01:47:40Z")
  }
}
