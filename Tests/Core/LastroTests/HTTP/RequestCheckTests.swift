// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro
import Testing

@Suite("Request checks")
struct RequestCheckTests {
  static func request(_ fields: HTTPFields = [:]) -> ResourceRequest {
    ResourceRequest(
      head: HTTPRequest(method: .post, scheme: "https", authority: "h.com", path: "/p?q=1", headerFields: fields),
      body: .raw("12345"))
  }

  static func code(_ request: ResourceRequest) -> FailureCode? {
    refusal { try RequestCheck.check(request) }?.code
  }

  @Test(
    "Valid header fields pass",
    arguments: [
      ("Content-Length", "5"), ("Connection", "close"), ("connection", "Keep-Alive"), ("TE", "trailers"),
      ("Host", "H.com"), ("X-A", "a\tb é"), ("Expect", "100-continue"), ("X-Empty", ""),
    ])
  func goodField(name: String, value: String) throws {
    var request = Self.request()
    try request.addHeader(name, value)
    #expect(Self.code(request) == nil)
  }

  @Test(
    "Framing and connection fields that contradict the request are refused",
    arguments: [
      ("Transfer-Encoding", "chunked"), ("transfer-encoding", "identity"), ("Content-Length", "4"),
      ("Content-Length", "5, 5"), ("Content-Length", "+5"), ("Content-Length", ""),
      ("Content-Length", "99999999999999999999"),
      ("Connection", "Upgrade"), ("Connection", "close, X-A"), ("Upgrade", "h2c"), ("HTTP2-Settings", "AAMAAABk"),
      ("Keep-Alive", "timeout=5"), ("Proxy-Connection", "keep-alive"), ("TE", "gzip"), ("TE", "trailers, deflate"),
    ])
  func badFraming(name: String, value: String) throws {
    var request = Self.request()
    try request.addHeader(name, value)
    #expect(Self.code(request) == .conflictingFraming)
  }

  @Test("Several lengths are refused if one of them is wrong")
  func severalLengths() throws {
    var request = Self.request()
    try request.addHeader("Content-Length", "5")
    try request.addHeader("Content-Length", "6")
    #expect(Self.code(request) == .conflictingFraming)
  }

  @Test("A Content-Length for a stream of unknown length is refused")
  func unknownLength() throws {
    var request = Self.request()
    request.body = .stream(AsyncStream<Data> { $0.finish() })
    try request.addHeader("Content-Length", "5")
    #expect(Self.code(request) == .conflictingFraming)
  }

  @Test(
    "A Host that differs from the authority, or several, are refused",
    arguments: [["other.com"], ["h.com:443"], [""], ["h.com", "h.com"]])
  func host(values: [String]) throws {
    var request = Self.request()
    for value in values { try request.addHeader("Host", value) }
    #expect(Self.code(request) == .invalidHeader)
  }

  @Test("A control character that HTTPField accepted is refused")
  func lenientField() throws {
    let name = try #require(HTTPField.Name("X-A"))
    var request = Self.request()
    request.head.headerFields.append(HTTPField(name: name, lenientValue: Array("a\u{8}b".utf8)))
    #expect(Self.code(request) == .invalidHeader)
  }

  @Test("A content type with a line break is refused")
  func contentType() {
    var request = Self.request()
    request.body = .raw("x", contentType: "text/plain\r\nX-Evil: 1")
    #expect(Self.code(request) == .invalidHeader)
  }

  @Test(
    "Invalid methods are refused",
    arguments: [(HTTPRequest.Method.connect, FailureCode.invalidMethod), (.head, .invalidBody), (.trace, .invalidBody)])
  func method(method: HTTPRequest.Method, code: FailureCode) {
    var request = Self.request()
    request.head.method = method
    #expect(Self.code(request) == code)
  }

  @Test("Extended CONNECT is refused")
  func extendedConnect() {
    var request = Self.request()
    request.head.extendedConnectProtocol = "websocket"
    #expect(Self.code(request) == .invalidMethod)
  }

  @Test("A GET may have a body, and HEAD, TRACE and OPTIONS may have an empty one")
  func bodies() {
    var request = Self.request()
    request.head.method = .get
    #expect(Self.code(request) == nil)
    request.body = .empty
    for method in [HTTPRequest.Method.head, .trace, .options] {
      request.head.method = method
      #expect(Self.code(request) == nil)
    }
  }

  @Test("A negative length is refused")
  func negativeLength() {
    var request = Self.request()
    request.body = .stream(AsyncStream<Data> { $0.finish() }, length: -1)
    #expect(Self.code(request) == .invalidBody)
  }

  @Test(
    "Schemes other than http and https are refused",
    arguments: [
      ("http", nil), ("ftp", .unsupportedScheme), ("HTTPS", .unsupportedScheme), ("", .unsupportedScheme),
      (nil, .invalidURL),
    ] as [(String?, FailureCode?)])
  func scheme(scheme: String?, code: FailureCode?) {
    var request = Self.request()
    request.head.scheme = scheme
    #expect(Self.code(request) == code)
  }

  @Test(
    "Valid authorities pass",
    arguments: [
      "h.com", "h.com:8443", "127.0.0.1:80", "[::1]", "[::1]:8443", "xn--mller-kva.test", "h-1.x", "H.com",
      "localhost", "a--b.test", "XN--MLLER-KVA.test", "h.com.", "a_b.test",
    ])
  func goodAuthority(authority: String) {
    var request = Self.request()
    request.head.authority = authority
    #expect(Self.code(request) == nil)
  }

  @Test(
    "Invalid authorities are refused",
    arguments: [
      nil as String?, "", "u@h.com", "u:p@h.com", "h.com:0", "h.com:65536", "h.com:x", "h.com:-1", "h.com:80:80",
      "h com", "h.com/x",
      "h.com?x", "h.com#x", "h\\com", "[::1", "[::g]", "[::1]x", "[fe80::1%25eth0]", "127.1", "0x7f.0.0.1", "a.0xff",
      "256.1.1.1", "1.2.3.04", ":80", "h_com|", "h%2Fcom", "１２７.0.0.1", "h。com", "müller.test", "h%6D.com", "a..b",
      ".h.com", "xn--a.com", "b.xn--0.com", String(repeating: "a", count: 64) + ".com",
      String(repeating: "a.", count: 126) + "com",
    ])
  func badAuthority(authority: String?) {
    var request = Self.request()
    request.head.authority = authority
    #expect(Self.code(request) == .invalidURL)
  }

  @Test(
    "A path must begin with a slash and contain no blank, fragment or non-ASCII character",
    arguments: [
      ("/", true), ("/a%20b?c=%2B", true), ("/a?", true), ("//a", true), ("", false), ("a", false), ("*", false),
      ("/a b", false), ("/a\tb", false), ("/é", false), ("/a#b", false), ("/\u{7F}a", false), (nil, false),
      ("http://h.com/", false),
    ] as [(String?, Bool)])
  func path(path: String?, isGood: Bool) {
    var request = Self.request()
    request.head.path = path
    #expect(Self.code(request) == (isGood ? nil : .invalidURL))
  }

  @Test(
    "CR and LF in path and authority, which HTTPTypes turns into spaces, are refused",
    arguments: ["a\r\nHost: evil", "a\nb", "a\u{0}b"])
  func injection(text: String) {
    var request = Self.request()
    request.head.path = "/" + text
    #expect(Self.code(request) == .invalidURL)
    request = Self.request()
    request.head.authority = text
    #expect(Self.code(request) == .invalidURL)
  }
}
