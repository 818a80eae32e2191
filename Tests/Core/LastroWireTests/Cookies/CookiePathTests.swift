// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import LastroWire

@Suite("Cookie paths and name prefixes", .timeLimit(.minutes(15)))
struct CookiePathTests {
  @Test(
    "The default path ends before the request's last slash",
    arguments: [
      ("/", "/"), ("/a", "/"), ("/a/", "/a"), ("/a/b", "/a"), ("/a/b/c", "/a/b"), ("", "/"), ("a/b", "/"), ("//", "/"),
    ])
  func ofRequest(path: String, expected: String) { #expect(CookiePath.ofRequest(path) == expected) }

  @Test(
    "A path matches itself and the paths below it, byte by byte",
    arguments: [
      ("/a", "/a", true), ("/a", "/a/b", true), ("/a/", "/a/b", true), ("/", "/a", true), ("/a", "/ab", false),
      ("/a/", "/a", false), ("/a/b", "/a", false), ("/A", "/a", false), ("/a%62", "/ab", false), ("/a", "/a?x", false),
    ])
  func covers(cookie: String, request: String, expected: Bool) {
    #expect(CookiePath.covers(cookie, request) == expected)
  }

  @Test(
    "The longest name prefix counts, in any case",
    arguments: [
      ("__Secure-a", .secure), ("__SECURE-", .secure), ("__host-a", .host), ("__Host-Http-a", .hostHTTP),
      ("__hTTP-a", .http), ("__Secure", nil), ("_Secure-a", nil), ("a__Host-", nil), ("", nil),
    ] as [(String, CookiePrefix?)])
  func prefix(name: String, expected: CookiePrefix?) { #expect(CookiePrefix(name) == expected) }

  @Test("Each name prefix has its own requirements")
  func promises() {
    var held: [CookiePrefix: Int] = [:]
    for bits in 0..<8 {
      for prefix in CookiePrefix.allCases
      where prefix.holds(isSecure: bits & 1 > 0, isHTTPOnly: bits & 2 > 0, isForWholeHost: bits & 4 > 0) {
        held[prefix, default: 0] |= 1 << bits
      }
    }
    // There is one bit for each combination that satisfies the prefix.
    #expect(held == [.secure: 0b1010_1010, .host: 0b1010_0000, .http: 0b1000_1000, .hostHTTP: 0b1000_0000])
  }
}
