// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro
import TestSupport
import Testing

@Suite("Endpoints")
struct HTTPResourceEndpointTests {
  @Test("The defaults make a request of method and base URL alone", .parity("EP01"))
  func defaults() throws {
    let base = try #require(URL(string: "https://h.com/v1"))
    let request = try MinimalEndpoint(baseURL: base).makeRequest()
    #expect(request.head.method == .delete)
    #expect(request.wire == "https://h.com/v1")
    #expect(request.head.headerFields.isEmpty)
    #expect(request.body.isEmpty)
    #expect(request.options.operation == nil)
  }

  @Test("All parts of an endpoint are in its request", .parity("EP02"))
  func allParts() throws {
    var endpoint = try EndpointFixture(
      "https://h.com:8443/v1", path: "/users", items: [.init(name: "a", value: "1"), .init(name: "b", value: "2")])
    endpoint.method = .put
    endpoint.headers = ["X-A": "1", .accept: "text/plain"]
    endpoint.options.operation = "putUsers"
    endpoint.body = { .raw("hello") }
    let request = try endpoint.makeRequest()
    #expect(request.head.method == .put)
    #expect(request.head.scheme == "https")
    #expect(request.head.authority == "h.com:8443")
    #expect(request.head.path == "/v1/users?a=1&b=2")
    #expect(request.head.headerFields.map(\.name.rawName) == ["X-A", "Accept"])
    #expect(request.options.operation == "putUsers")
    #expect(request.body.length == 5)
  }

  @Test(
    "Without parts of its own an endpoint keeps the base URL as it is", .parity("EP03", "EP04", "EP07", "EP08"),
    arguments: [
      ("EP03", "https://h.com", "https://h.com/"), ("EP04", "https://h.com/some/path", "https://h.com/some/path"),
      ("EP04", "https://h.com/some/path/", "https://h.com/some/path/"), ("EP07", "https://h.com/", "https://h.com/"),
      ("EP08", "https://h.com/p?a=1&b=2", "https://h.com/p?a=1&b=2"),
    ])
  func unchanged(id: String, base: String, wire: String) throws {
    #expect(try EndpointFixture(base).wire == wire)
  }

  @Test("A path is added to a base without one", .parity("EP05"))
  func pathOnHost() throws {
    #expect(try EndpointFixture("https://h.com", path: "/some/path").wire == "https://h.com/some/path")
  }

  @Test("A path is added to the path of the base with one slash", .parity("EP06"))
  func pathOnPath() throws {
    #expect(try EndpointFixture("https://h.com/some/", path: "/other/path").wire == "https://h.com/some/other/path")
  }

  @Test("Query items are added in order", .parity("EP09"))
  func items() throws {
    let items = [
      URLQueryItem(name: "b", value: "2"), URLQueryItem(name: "a", value: "1"), URLQueryItem(name: "b", value: "3"),
    ]
    #expect(try EndpointFixture("https://h.com/p", items: items).wire == "https://h.com/p?b=2&a=1&b=3")
  }

  @Test("Query items of the base come first", .parity("EP10"))
  func itemsOnItems() throws {
    let items = [URLQueryItem(name: "c", value: "3")]
    #expect(try EndpointFixture("https://h.com/p?a=1&b=2", items: items).wire == "https://h.com/p?a=1&b=2&c=3")
  }

  @Test("An endpoint has no header fields by default", .parity("EP11"), arguments: [nil, [:] as RawHeaders])
  func noHeaders(headers: RawHeaders?) throws {
    var endpoint = try EndpointFixture("https://h.com")
    endpoint.headers = headers
    #expect(try endpoint.makeRequest().head.headerFields.isEmpty)
  }

  @Test("Header fields keep their order and repetitions", .parity("EP12"))
  func headers() throws {
    var endpoint = try EndpointFixture("https://h.com")
    endpoint.headers = [.accept: "a", "X-B": "1", "x-b": "2"]
    let fields = try endpoint.makeRequest().head.headerFields
    #expect(fields.map { "\($0.name.rawName)=\($0.value)" } == ["Accept=a", "X-B=1", "x-b=2"])
  }

  @Test("An endpoint has no body by default, nor if it is nil", .parity("EP13", "EP14"))
  func noBody() throws {
    let base = try #require(URL(string: "https://h.com"))
    #expect(try MinimalEndpoint(baseURL: base).makeRequest().body.isEmpty)
    var endpoint = try EndpointFixture("https://h.com")
    endpoint.body = { nil }
    #expect(try endpoint.makeRequest().body.isEmpty)
  }

  @Test("The body of an endpoint is in its request", .parity("EP15"))
  func body() throws {
    var endpoint = try EndpointFixture("https://h.com")
    endpoint.body = { .raw([1, 2, 3]) }
    guard case .bytes(let data) = try endpoint.makeRequest().body.source else {
      Issue.record("the body is not in memory")
      return
    }
    #expect(data == Data([1, 2, 3]))
  }

  @Test("The error of makeBody is rethrown unchanged", .parity("EP16"))
  func throwingBody() throws {
    struct Marker: Error {}
    var endpoint = try EndpointFixture("https://h.com")
    endpoint.body = { throw Marker() }
    #expect(throws: Marker.self) { try endpoint.makeRequest() }
  }

  /// The table of the protocol's documentation and of Alicerce, with the URLs that are correct here.
  static let table: [(base: String, path: String?, items: [URLQueryItem]?, wire: String)] = [
    ("h", "/a", nil, "h/a"), ("h/", "/a", nil, "h/a"), ("h", "a", nil, "h/a"), ("h/v1", "users", nil, "h/v1/users"),
    ("h/v1/", "users", nil, "h/v1/users"), ("h/v1//x", nil, nil, "h/v1//x"), ("h/v1//x", "/y", nil, "h/v1//x/y"),
    ("h/v1", "///y", nil, "h/v1/y"), ("h/v1//", "///y", nil, "h/v1/y"), ("h/v1//x", "/y//z/", nil, "h/v1//x/y//z/"),
    ("h/v1", "/", nil, "h/v1/"), ("h/v1/", "/", nil, "h/v1/"), ("h/v1", "", nil, "h/v1"), ("h", "", nil, "h/"),
    ("h/a%2Fb", "/c", nil, "h/a%2Fb/c"), ("h/a%2fb", "/c%2fd", nil, "h/a%2fb/c%2fd"),
    ("h/v1", "/a%20b", nil, "h/v1/a%20b"), ("h/v1", "/a b", nil, "h/v1/a%20b"), ("h/v1", "/50%", nil, "h/v1/50%25"),
    ("h/v1", "/%zz%4", nil, "h/v1/%25zz%254"), ("h/v1", "/é", nil, "h/v1/%C3%A9"),
    ("h/v1", "/a?x=1#f", nil, "h/v1/a%3Fx=1%23f"), ("h/v1", "/http://o", nil, "h/v1/http://o"),
    ("h/v1", "/a\r\nb\u{0}", nil, "h/v1/a%0D%0Ab%00"), ("h/v1", "/a\\b[c]|{d}", nil, "h/v1/a%5Cb%5Bc%5D%7C%7Bd%7D"),
    ("h/v1", "/a;b=1,c!$&'()*+:@~", nil, "h/v1/a;b=1,c!$&'()*+:@~"), ("h/v1", "/../x", nil, "h/v1/../x"),
    ("h/v1", nil, [], "h/v1"), ("h/v1?", nil, nil, "h/v1?"),
    ("h/v1?a=1&", nil, [.init(name: "b", value: "2")], "h/v1?a=1&b=2"),
    (
      "h/v1", nil, [.init(name: "a", value: "1+1 & 2=é;/?#")],
      "h/v1?a=1%2B1%20%26%202%3D%C3%A9%3B%2F%3F%23"
    ),
    ("h/v1", nil, [.init(name: "a&=+ é%41", value: "%41")], "h/v1?a%26%3D%2B%20%C3%A9%2541=%2541"),
    ("h/v1", nil, [.init(name: "a", value: nil), .init(name: "b", value: "")], "h/v1?a&b="),
    ("h/v1?a=1%2B1", nil, nil, "h/v1?a=1%2B1"),
    ("h/v1?a=1%2B1", nil, [.init(name: "b", value: nil)], "h/v1?a=1%2B1&b"),
    ("h/v1?a=1+1;/?", nil, [.init(name: "b", value: "1")], "h/v1?a=1+1;/?&b=1"),
    ("h/v1?a=1#frag", "/x", [.init(name: "b", value: "")], "h/v1/x?a=1&b="), ("h/v1#?a", nil, nil, "h/v1"),
    ("h?a=1", "x", nil, "h/x?a=1"), ("h:443/x", nil, nil, "h/x"), ("h:8443/x", nil, nil, "h:8443/x"),
    ("h:/x", nil, nil, "h/x"),
  ]

  @Test("Base, path and query items are combined as in the observed table", arguments: table)
  func observed(base: String, path: String?, items: [URLQueryItem]?, wire: String) throws {
    func full(_ text: String) -> String { "https://h.com" + text.dropFirst() }
    #expect(try EndpointFixture(full(base), path: path, items: items).wire == full(wire))
  }

  @Test(
    "Unusable base URLs are refused with a remedy",
    arguments: [
      ("https://u:p@h.com:8080/v1", FailureCode.invalidURL), ("https://token@h.com", .invalidURL),
      ("ftp://h.com", .unsupportedScheme), ("file:///etc/passwd", .unsupportedScheme), ("/v1/users", .invalidURL),
      ("h.com/v1", .invalidURL), ("https:/v1", .invalidURL), ("https:///v1", .invalidURL),
      ("mailto:a@b.c", .invalidURL),
      ("https://h.com:0", .invalidURL), ("https://h.com:65536", .invalidURL), ("https://127.1/", .invalidURL),
    ])
  func refused(base: String, code: FailureCode) throws {
    let endpoint = try EndpointFixture(base)
    let error = try #require(refusal { _ = try endpoint.makeRequest() })
    #expect(error.stage == .request)
    #expect(error.code == code)
    #expect(!error.requestSent)
    #expect(!error.description.contains("token") && !error.description.contains("u:p"))
  }

  @Test(
    "Hosts are converted to ASCII",
    arguments: [
      ("https://MÜLLER.test/a", "xn--mller-kva.test"), ("https://m%C3%BCller.test/a", "xn--mller-kva.test"),
      ("https://XN--MLLER-kva.test/a", "xn--mller-kva.test"), ("https://[::1]:8443/a", "[::1]:8443"),
    ])
  func hosts(base: String, expected: String) throws {
    #expect(try EndpointFixture(base).makeRequest().head.authority == expected)
  }

  @Test("Injected header fields are refused")
  func injectedHeader() throws {
    var endpoint = try EndpointFixture("https://h.com")
    endpoint.headers = ["X-A": "1\r\nX-Evil: 2"]
    let error = try #require(refusal { _ = try endpoint.makeRequest() })
    #expect(error.code == .invalidHeader)
    #expect(!error.message.contains("Evil"))
  }

  @Test(
    "Path segments are escaped so that they stay segments",
    arguments: [
      ("abc-._~09", "abc-._~09"), ("a/b?c#d", "a%2Fb%3Fc%23d"), ("50%", "50%25"), ("a b", "a%20b"), ("é", "%C3%A9"),
      (".", "%2E"), ("..", "%2E%2E"), ("...", "..."), ("", ""), ("a;b=c+d", "a%3Bb%3Dc%2Bd"), ("\r\n", "%0D%0A"),
    ])
  func segments(text: String, escaped: String) throws {
    #expect(text.pathSegment == escaped)
    #expect(
      try EndpointFixture("https://h.com", path: "/x/\(text.pathSegment)/y").wire == "https://h.com/x/\(escaped)/y")
  }
}

@Suite("Status classes")
struct StatusTests {
  @Test(
    "A status has the class of its first digit", .parity("HT01"),
    arguments: [
      (0, HTTPResponse.Status.Kind.invalid), (99, .invalid), (100, .informational), (199, .informational),
      (200, .successful), (299, .successful), (300, .redirection), (399, .redirection), (400, .clientError),
      (499, .clientError), (500, .serverError), (599, .serverError), (600, .invalid), (999, .invalid),
    ])
  func kind(code: Int, kind: HTTPResponse.Status.Kind) {
    #expect(HTTPResponse.Status(code: code).kind == kind)
  }

  @Test(
    "A status keeps its number", .parity("HT02"),
    arguments: [0, 99, 100, 199, 200, 299, 300, 399, 400, 499, 500, 599, 600, 999])
  func roundTrip(code: Int) {
    #expect(HTTPResponse.Status(code: code).code == code)
  }
}

/// An endpoint whose parts a test sets.
struct EndpointFixture: HTTPResourceEndpoint {
  var method: HTTPRequest.Method = .get
  var baseURL: URL
  var path: String?
  var queryItems: [URLQueryItem]?
  var headers: RawHeaders?
  var options = RequestOptions()
  var body: @Sendable () throws -> RequestBody? = { nil }

  func makeBody() throws -> RequestBody? { try body() }

  struct BadURL: Error {}

  init(_ base: String, path: String? = nil, items: [URLQueryItem]? = nil) throws {
    guard let url = URL(string: base) else { throw BadURL() }
    baseURL = url
    self.path = path
    queryItems = items
  }

  /// The complete URL that is sent.
  var wire: String { get throws { try makeRequest().wire } }
}

/// An endpoint that uses all available defaults.
struct MinimalEndpoint: HTTPResourceEndpoint {
  let method: HTTPRequest.Method = .delete
  let baseURL: URL
}

extension ResourceRequest {
  /// The complete URL that is sent.
  var wire: String { "\(head.scheme ?? "-")://\(head.authority ?? "-")\(head.path ?? "-")" }
}

/// Returns the transport error that `body` throws; `nil` if it throws none.
func refusal(_ body: () throws -> Void) -> TransportError? {
  do {
    try body()
    return nil
  } catch {
    return error as? TransportError
  }
}
