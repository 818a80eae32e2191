// SPDX-License-Identifier: Apache-2.0

import Lastro
import TestSupport
import Testing

@testable import LastroEveryday

@Suite("Requests to the port of a login")
struct LoginRedirectTests {
  private static let issuer = "https://login.example"

  /// Returns the verdict on a request in a few words.
  private func outcome(_ request: String, issuer: String? = Self.issuer, announcesIssuer: Bool = false) -> String {
    outcome(Array(request.utf8)[...], issuer: issuer, announcesIssuer: announcesIssuer)
  }

  private func outcome(
    _ request: ArraySlice<UInt8>, issuer: String? = Self.issuer, announcesIssuer: Bool = false
  ) -> String {
    let redirect = LoginRedirect(
      path: "/callback", state: "s3cr3t", issuer: issuer, announcesIssuer: announcesIssuer)
    switch redirect.verdict(on: Array(request)) {
    case .incomplete: return "incomplete"
    case .refused(let status): return "\(status.code)"
    case .accepted(.success(let code)): return "code \(code.reveal())"
    case .accepted(.failure(let error)):
      switch error {
      case .refused(let word, let description): return "refused \(word) \(description ?? "-")"
      case .wrongIssuer(_, let found): return "issuer \(found ?? "-")"
      case .invalidAnswer(let reason): return reason
      default: return "\(error)"
      }
    }
  }

  private func get(_ query: String, _ path: String = "/callback") -> String {
    "GET \(path)?\(query) HTTP/1.1\r\nHost: 127.0.0.1:1\r\n\r\n"
  }

  @Test(
    "Only a GET of the path with the state of the login counts",
    arguments: [
      ("code=c&state=s3cr3t", "code c"), ("state=s3cr3t&code=a%2Bb+c", "code a+b c"),
      ("&&code=c&&state=s3cr3t&", "code c"),
      ("code=c&state=s3cr3u", "400"), ("code=c&state=", "400"), ("code=c&state=s3cr3", "400"), ("code=c", "400"),
      ("code=c&state=s3cr3t&state=s3cr3t", "400"), ("code=c&state=s3cr3t&state=x", "400"),
      ("code=%zz&state=s3cr3t", "400"),
      ("code=%FF&state=s3cr3t", "400"), ("error=access_denied", "400"),
      ("code=a&code=b&state=s3cr3t", "its redirect has code more than once"),
      ("error=a&error=b&state=s3cr3t", "its redirect has error more than once"),
      ("code=a&iss=x&iss=x&state=s3cr3t", "its redirect has iss more than once"),
      ("state=s3cr3t", "its redirect has neither a code nor an error"),
      ("code=&state=s3cr3t", "its redirect has neither a code nor an error"),
      ("error=access_denied&state=s3cr3t", "refused access_denied -"),
      ("error=a%0Ab&error_description=no%1B[2J&code=c&state=s3cr3t", "refused a\\nb no\\u{1B}[2J"),
    ])
  func queries(query: String, expected: String) {
    #expect(outcome(get(query)) == expected)
  }

  @Test(
    "Other requests are refused by their status",
    arguments: [
      ("GET /favicon.ico HTTP/1.1\r\n\r\n", "404"), ("GET / HTTP/1.1\r\n\r\n", "404"),
      ("POST /callback?code=c&state=s3cr3t HTTP/1.1\r\n\r\n", "405"),
      ("HEAD /callback?code=c&state=s3cr3t HTTP/1.1\r\n\r\n", "405"), ("OPTIONS * HTTP/1.1\r\n\r\n", "400"),
      ("GET http://127.0.0.1/callback?code=c&state=s3cr3t HTTP/1.1\r\n\r\n", "400"),
      ("GET /callback?code=c&state=s3cr3t HTTP/2\r\n\r\n", "400"), ("GET /callback?code=c&state=s3cr3t\r\n\r\n", "400"),
      ("\u{16}\u{3}\u{1}\r\n\r\n", "400"), ("\r\n\r\n", "400"), ("GET /callback HTTP/1.1\r\n", "incomplete"),
      ("", "incomplete"),
      ("GET /callback?code=c&state=s3cr3t HTTP/1.0\r\n\r\n", "code c"),
    ])
  func requests(request: String, expected: String) {
    #expect(outcome(request) == expected)
  }

  @Test(
    "The issuer of a redirect is that of the login, if it is named or announced",
    arguments: [
      (nil, false, "code c"), (nil, true, "issuer -"), (Self.issuer, false, "code c"), (Self.issuer, true, "code c"),
      ("https://login.example/", false, "issuer https://login.example/"),
      ("https://evil.example", true, "issuer https://evil.example"),
    ] as [(String?, Bool, String)])
  func issuers(found: String?, isAnnounced: Bool, expected: String) {
    let query = "code=c&state=s3cr3t" + (found.map { "&iss=\($0)" } ?? "")
    #expect(outcome(get(query), announcesIssuer: isAnnounced) == expected)
    // A refusal by another issuer is no refusal of this one.
    let refusal = "error=e&state=s3cr3t" + (found.map { "&iss=\($0)" } ?? "")
    #expect(
      outcome(get(refusal), announcesIssuer: isAnnounced) == expected.replacing("code c", with: "refused e -"))
    #expect(outcome(get(query), issuer: nil) == "code c")
  }

  @Test("A head is complete with its empty line, and has at most 16 KiB")
  func bounds() {
    let request = Array(get("code=c&state=s3cr3t").utf8)
    for count in request.indices { #expect(outcome(request.prefix(count)) == "incomplete") }
    let field = Array(
      ("GET /callback?code=c&state=s3cr3t HTTP/1.1\r\nX: " + String(repeating: "x", count: 16 * 1024)).utf8)
    #expect(outcome(field[...]) == "431")
    #expect(outcome(field.prefix(16 * 1024)) == "incomplete")
    #expect(outcome(field.prefix(16 * 1024 - 4) + "\r\n\r\n".utf8) == "code c")
    #expect(outcome(field.prefix(16 * 1024 - 3) + "\r\n\r\n".utf8) == "431")
  }

  @Test("Random changes of a redirect lead to its code, to a refusal, or to more reading")
  func randomBytes() {
    let random = RandomSource.seeded(36)
    let redirect = LoginRedirect(path: "/callback", state: "s3cr3t", issuer: nil, announcesIssuer: false)
    let request = Array(get("code=c&state=s3cr3t").utf8)
    var counts = ["incomplete": 0, "refused": 0, "accepted": 0]
    for _ in 0..<2000 {
      var bytes = request
      for _ in 0..<(random.next() % 4) {
        let place = Int(random.next() % UInt64(bytes.count))
        bytes[place] = UInt8(truncatingIfNeeded: random.next())
      }
      switch redirect.verdict(on: bytes) {
      case .incomplete: counts["incomplete", default: 0] += 1
      case .refused: counts["refused", default: 0] += 1
      case .accepted: counts["accepted", default: 0] += 1
      }
    }
    #expect(counts.values.allSatisfy { $0 > 10 })
  }
}
