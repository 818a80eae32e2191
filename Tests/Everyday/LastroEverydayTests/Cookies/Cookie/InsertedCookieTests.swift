// SPDX-License-Identifier: Apache-2.0

import Foundation
import Lastro
import LastroWire
import Testing

@testable import LastroEveryday

@Suite("Cookies set by the application", .timeLimit(.minutes(15)))
struct InsertedCookieTests {
  @Test("Application cookies are sent like a server's, by the canonical form of their domain")
  func inserted() throws {
    let jar = TestJar()
    try jar.jar.insert(Cookie("a", "1", domain: "WWW.Example.com"))
    try jar.jar.insert(Cookie("b", "2", domain: "example.com", isHostOnly: false, isSecure: true))
    try jar.jar.insert(Cookie("c", "3", domain: "bücher.example"))
    #expect(try jar.sent() == "a=1; b=2")
    #expect(try jar.sent(to: "http://mail.example.com/") == "")
    #expect(try jar.sent(to: "https://xn--bcher-kva.example/") == "c=3")
    try jar.jar.insert(Cookie("a", "4", domain: "www.example.com"))
    #expect(try jar.sent() == "a=4; b=2")
    try jar.jar.insert(Cookie("a", "", domain: "www.example.com", expiry: .distantPast))
    #expect(try jar.sent() == "b=2")
  }

  @Test(
    "Ambiguous cookies, and those that no server could set, are refused",
    arguments: [
      (Cookie("a", "b; c=d", domain: "a.com"), .separator), (Cookie("a=b", "c", domain: "a.com"), .separator),
      (Cookie("a;", "c", domain: "a.com"), .separator), (Cookie("a", "b", domain: "a.com", path: "/;"), .separator),
      (Cookie(" a", "c", domain: "a.com"), .separator), (Cookie("a", "b\r\nX: y", domain: "a.com"), .controlCharacter),
      (Cookie("a\n", "b", domain: "a.com"), .controlCharacter), (Cookie("", "", domain: "a.com"), .empty),
      (Cookie("", "b", domain: "a.com"), .nameless), (Cookie("a", "b", domain: ""), .invalidDomain),
      (Cookie("a", "b", domain: ".a.com"), .invalidDomain), (Cookie("a", "b", domain: "a.com:80"), .invalidDomain),
      (Cookie("a", "b", domain: "a.com."), .invalidDomain), (Cookie("a", "b", domain: "a.com", path: ""), .invalidPath),
      (Cookie("a", "b", domain: "co.uk", isHostOnly: false), .publicSuffix),
      (Cookie("__Host-a", "b", domain: "a.com"), .prefix),
      (Cookie("a", Secret(String(repeating: "b", count: 4096)), domain: "a.com"), .tooLong),
    ] as [(Cookie, CookieRefusal)])
  func refused(cookie: Cookie, refusal: CookieRefusal) throws {
    let jar = TestJar()
    let error = #expect(throws: ConfigurationError.self) { try jar.jar.insert(cookie) }
    #expect(error == ConfigurationError(refusal, of: cookie))
    #expect(jar.jar.cookies.isEmpty)
  }

  @Test("A cookie for other sites that is not secure is refused")
  func sameSite() throws {
    let jar = TestJar()
    var cookie = Cookie("a", "b", domain: "a.com")
    cookie.sameSite = .none
    #expect(throws: ConfigurationError(.sameSiteNone, of: cookie)) { try jar.jar.insert(cookie) }
    #expect(jar.jar.cookies.isEmpty)
  }

  @Test("An error names the cookie and the remedy, but not the value")
  func errorText() throws {
    let jar = TestJar()
    let error = #expect(throws: ConfigurationError.self) {
      try jar.jar.insert(Cookie("a", "hunter2; Path=/", domain: "a.com"))
    }
    #expect("\(try #require(error))" == "the cookie a has a separator in its name or value (percent-encode it)")
  }

  @Test("Each refusal has its own reason and remedy")
  func reasons() {
    let reasons = CookieRefusal.allCases.map(\.reason)
    #expect(Set(reasons).count == CookieRefusal.allCases.count)
    #expect(CookieRefusal.allCases.allSatisfy { !$0.hint.isEmpty })
  }
}
