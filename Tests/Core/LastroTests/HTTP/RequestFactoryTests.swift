// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro
import Testing

@Suite("Requests from text")
struct RequestFactoryTests {
  @Test(
    "Valid URLs pass",
    arguments: [
      ("https://h.com", "https://h.com/"), ("HTTPS://H.COM:443/A", "https://h.com/A"), ("http://h:80", "http://h/"),
      ("http://h:443/", "http://h:443/"), ("https://h.com:0443/", "https://h.com/"), ("http://h?q=1", "http://h/?q=1"),
      ("http://h#f", "http://h/"), ("http://h/a?b?c#d#e?f", "http://h/a?b?c"),
      ("http://[::1]:8080/x", "http://[::1]:8080/x"),
      ("http://[2001:DB8::1]/", "http://[2001:db8::1]/"), ("http://h./", "http://h./"),
      ("http://h/%7Ea%2f", "http://h/%7Ea%2f"),
      ("http://h/é?é", "http://h/%C3%A9?%C3%A9"), ("http://h/?q=100%", "http://h/?q=100%25"),
      ("http://h/?a[]=1|2", "http://h/?a%5B%5D=1%7C2"),
      ("http://MÜLLER.test/", "http://xn--mller-kva.test/"), ("http://straße.test/", "http://xn--strae-oqa.test/"),
      ("http://日本.test", "http://xn--wgv71a.test/"), ("http://mu\u{308}ller.test", "http://xn--mller-kva.test/"),
      ("http://[0:0::0:1]/", "http://[::1]/"), ("http://ü.test.:80", "http://xn--tda.test./"),
      ("http://a%41.test", "http://aa.test/"), ("http://h/a/../b/./c", "http://h/a/../b/./c"),
      ("http://h/http://u@x", "http://h/http://u@x"),
      ("http://h/?u=a@b", "http://h/?u=a@b"),
    ])
  func goodURL(url: String, wire: String) throws {
    let request = try ResourceRequest(url: url)
    #expect(request.wire == wire)
    #expect(request.head.method == .get)
    #expect(throws: Never.self) { try RequestCheck.check(request) }
  }

  @Test(
    "Invalid URLs are refused",
    arguments: [
      "", "h.com", "//h.com", "/x", "http", "http:", "http:/h", "http://", "http:///x", "http://?q", "http://:80/",
      "1http://h",
      "http://h:x", "http://h:0", "http://h:65536", "http://h:999999", "http://h:-1", "http://h:+80", "http://h:8 0",
      "http://u@h", "http://u:p@h", "http://@h", "http://u@v@h", " http://h", "http://h ", "http://h/a b",
      "http://h/\r\nX: 1",
      "http://h/\n", "http://h/\u{0}", "http://h/\t", "http://h/\u{7F}", "http://h\r\n.com", "http://h%0D%0A/",
      "http://h%00/",
      "http://h%2Fx/", "http://h%40x/", "http://h%/", "http://h%ff/", "http://a\\b/", "http://\\h", "http:\\\\h",
      "http://[::1", "http://::1/",
      "http://[1::2::3]/", "http://[::1]x/", "http://[v1.x]/", "http://[fe80::1%eth0]/", "http://127.1/",
      "http://2130706433/",
      "http://0x7f000001/", "http://0177.0.0.1/", "http://1.2.3.4.5/", "http://256.0.0.1/", "http://1.2.3.4./",
      "http://a.1/", "http://１.1.1.1/",
      "http://ｈ.com/", "http://h。com/", "http://a\u{AD}b/", "http://a\u{200B}b/", "http://\u{1F4A9}.test/",
      "http://a<b/", "http://a{b}/", "http://a^b/",
      "http://\(String(repeating: "a", count: 513))/", "http://\(String(repeating: "a", count: 64))/",
      "http://xn--/", "http://xn--a/", "http://a..b/", "http://./", "http://xn--mller-kvü/",
    ])
  func badURL(url: String) throws {
    let error = try #require(refusal { _ = try ResourceRequest(url: url) })
    #expect(error.stage == .request)
    #expect(error.code == .invalidURL)
  }

  @Test("Other schemes are refused", arguments: ["ftp://h/", "file:///x", "ws://h/", "gopher://h/"])
  func otherScheme(url: String) {
    #expect(refusal { _ = try ResourceRequest(url: url) }?.code == .unsupportedScheme)
  }

  @Test("A method must be a token", arguments: ["", "GE T", "GET\r\n", "GÉT", "GET:", "G\u{0}T"])
  func badMethod(method: String) {
    #expect(refusal { _ = try ResourceRequest(method: method, url: "http://h") }?.code == .invalidMethod)
  }

  @Test("Any token is a method, with its case preserved", arguments: ["GET", "get", "PROPFIND", "M-SEARCH"])
  func goodMethod(method: String) throws {
    #expect(try ResourceRequest(method: method, url: "http://h").head.method.rawValue == method)
  }

  @Test(
    "Invalid header fields are refused",
    arguments: [
      ("", "v"), ("A B", "v"), ("A:", "v"), (":path", "v"), ("A\r\n", "v"), ("Ä", "v"), ("A", "a\rb"), ("A", "a\nb"),
      ("A", "a\u{0}b"),
      ("A", "a\u{1}b"), ("A", "\u{7F}"), ("A", "v\r\n"),
    ])
  func badHeader(name: String, value: String) throws {
    let headers = RawHeaders([(name, value)])
    #expect(refusal { _ = try headers.checkedFields() }?.code == .invalidHeader)
    #expect(refusal { _ = try ResourceRequest(url: "http://h", headers: headers) }?.code == .invalidHeader)
    var request = try ResourceRequest(url: "http://h")
    #expect(throws: TransportError.self) { try request.setHeader(name, value) }
    #expect(throws: TransportError.self) { try request.addHeader(name, value) }
    #expect(request.head.headerFields.isEmpty)
  }

  @Test(
    "Field values keep permitted characters and lose surrounding blanks",
    arguments: [("é\tx", "é\tx"), (" \t a b \t", "a b"), ("", ""), (" ", "")])
  func goodHeader(value: String, expected: String) throws {
    #expect(try RawHeaders([("A", value)]).checkedFields().map(\.value) == [expected])
  }

  @Test("Setting replaces and adding appends a field, whatever the case of its name")
  func setAndAdd() throws {
    var request = try ResourceRequest(url: "http://h", headers: ["A": "1", "B": "2", "a": "3"])
    try request.setHeader("a", "4")
    try request.addHeader("b", "5")
    #expect(request.head.headerFields.map { "\($0.name.rawName)=\($0.value)" } == ["a=4", "B=2", "b=5"])
  }

  @Test("Raw header fields are found by name in any case")
  func rawHeaders() {
    var headers: RawHeaders = ["A": "1", .accept: "x", "a": "2"]
    #expect(headers["a"] == "1")
    headers["a"] = "3"
    #expect(headers.fields.map(\.name) == ["a", "Accept"])
    headers[.accept] = nil
    headers["New"] = "4"
    headers.append("New", "secret")
    #expect(headers.fields.map(\.value) == ["3", "4", "secret"])
    #expect(!headers.description.contains("secret"))
  }

  @Test("Too many header fields are an error and do not trap")
  func manyHeaders() {
    let headers = RawHeaders((0..<70_000).map { ("A\($0)", "") })
    #expect(refusal { _ = try headers.checkedFields() }?.code == .invalidHeader)
  }
}
