// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import LastroTesting
import Testing

@testable import Lastro

extension ErrorTexts {
  static func hosts() -> Self {
    var texts = Self()
    for host in [
      "", "[::1", "[::1]:80", "example.com:80", "a..b", String(repeating: "a", count: 64), "xn--ü", "xn--a",
      String(repeating: "ü", count: 64), "xn--" + String(repeating: "a", count: 60),
      Array(repeating: String(repeating: "a", count: 60), count: 5).joined(separator: "."),
      String(repeating: "a", count: 513), "1.2.3", "fe80::1%eth0", "fe80::1 x", "1::2::3", "a\u{5D0}",
      "\u{105}\u{323}.lt",
      "\u{300}a", "*.example.com", "a%20b", "user@example.com", "a:/b", "a b", "a!b", "a\u{B7}b", "\u{FF41}",
      "\u{2603}",
      "xn--u-ccb", "xn--bcher-kv",
    ] { texts.provoke({ try HostName(host) }) }
    for url in [
      "https://a b", "https://a\nb", "example.com", "mailto:a", "ftp://example.com", "https:example.com", "https://",
      "https://user:secret@example.com", "https://[::1", "https://a:70000", "https://%ff", "https://1.2.3.4.",
      "https:///a",
    ] { texts.provoke({ try ResourceRequest(url: url) }) }
    texts.provoke({ try Origin("example.com") })
    return texts
  }

  static func requests() throws -> Self {
    var texts = Self()
    let good = try ResourceRequest(url: "https://example.com/a")
    func check(_ edit: (inout ResourceRequest) -> Void) -> () throws -> Any {
      var request = good
      edit(&request)
      return { [request] in try RequestCheck.check(request) }
    }
    func field(_ name: String, _ value: String) -> () throws -> Any {
      check { request in
        if let name = HTTPField.Name(name) { request.head.headerFields.append(HTTPField(name: name, value: value)) }
      }
    }
    texts.provoke(
      check { $0.head.method = .connect },
      check {
        $0.head.method = .trace
        $0.body = .raw([1])
      },
      check { $0.head.extendedConnectProtocol = "websocket" }, check { $0.head.scheme = nil },
      check { $0.head.scheme = "ftp" }, check { $0.head.authority = nil }, check { $0.head.authority = "a b" },
      check { $0.head.authority = "a\nb" },
      check { $0.head.authority = "bücher.example" }, check { $0.head.path = "a" }, check { $0.head.path = "/a b" },
      check {
        $0.body = RequestBody(source: .stream(length: -1, isReplayable: true, open: { { nil } }), contentType: nil)
      },
      check {
        $0.body = RequestBody(source: .bytes(Data()), trailers: { [:] })
      },
      field("Upgrade", "h2c"), field("Transfer-Encoding", "chunked"), field("Content-Length", "7"),
      field("Connection", "upgrade"), field("TE", "gzip"),
      field("Host", "other.example"),
      check {
        if let host = HTTPField.Name("Host") {
          $0.head.headerFields.append(HTTPField(name: host, value: "example.com"))
          $0.head.headerFields.append(HTTPField(name: host, value: "example.com"))
        }
      },
      { try RequestCheck.checkIdempotencyKey("") }, { try RequestCheck.checkIdempotencyKey("a b") },
      { try ResourceRequest(method: "a b", url: "https://example.com") },
      { try RawHeaders([("a b", "c")]).checkedFields() }, { try RawHeaders([("A", "b\nc")]).checkedFields() },
      { try RawHeaders(Array(repeating: ("A", "b"), count: 1000)).checkedFields() },
      { try RequestBody.file(path: "a\0b") }, { try RequestBody.file(path: "/nowhere/body") },
      { try RequestBody.file(path: "/") },
      {
        var request = good
        try request.appendPathSegment("")
        return request
      },
      {
        var request = good
        try request.appendPathSegment("..")
        return request
      })
    texts.provoke(
      { try Timeouts(connect: .zero) }, { try Timeouts(attempt: .seconds(9), total: .seconds(3)) },
      { try RetryQuota(capacity: 0) }, { try HTTPRetryPolicy.standard(attempts: 0) },
      { try HTTPRetryPolicy.standard(attempts: 3, cap: .seconds(-1)) })
    return texts
  }

  static func redirects() throws -> Self {
    var texts = Self()
    func redirect(
      _ locations: String..., from url: String = "https://a.example/", method: HTTPRequest.Method = .get,
      body: RequestBody = .empty, policy: RedirectPolicy = .follow(), rounds: Int = 1
    ) -> () throws -> Any {
      {
        var tracker = RedirectTracker()
        var head = HTTPResponse(status: .temporaryRedirect)
        for location in locations { head.headerFields.append(HTTPField(name: .location, value: location)) }
        var request = try ResourceRequest(method: method, url: url, body: body)
        for _ in 0..<rounds { request = try tracker.next(after: head, to: request, policy: policy) ?? request }
        return request
      }
    }
    let once = RequestBody(source: .stream(length: nil, isReplayable: false, open: { { nil } }))
    texts.provoke(
      redirect("/a", "/b"), redirect("b/", policy: .follow(limit: 2), rounds: 3), redirect("ftp://b.example/"),

      { try RedirectTarget("/\u{1}", base: RequestTarget("https://a.example/"), fragment: nil) },
      redirect("http://b.example/"), redirect("/"), redirect("/b", method: .post, body: once))
    return texts
  }
}
