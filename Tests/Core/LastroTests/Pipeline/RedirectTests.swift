// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import LastroTesting
import TestSupport
import Testing

@testable import Lastro

@Suite("Redirects", .timeLimit(.minutes(15)))
struct RedirectTests {
  static func next(
    _ status: Int, to location: String, from request: ResourceRequest, policy: RedirectPolicy = .follow()
  ) throws -> ResourceRequest? {
    var tracker = RedirectTracker()
    return try tracker.next(
      after: HTTPResponse(status: .init(code: status), headerFields: [.location: location]), to: request,
      policy: policy)
  }

  @Test(
    "The table says which statuses are followed, and with which method",
    arguments: [300, 301, 302, 303, 304, 305, 306, 307, 308, 399])
  func methods(status: Int) throws {
    let expected: [Int: [String]] = [
      300: ["GET", "HEAD", "POST", "PUT", "DELETE"], 301: ["GET", "HEAD", "GET", "PUT", "DELETE"],
      302: ["GET", "HEAD", "GET", "PUT", "DELETE"], 303: ["GET", "HEAD", "GET", "GET", "GET"],
      307: ["GET", "HEAD", "POST", "PUT", "DELETE"], 308: ["GET", "HEAD", "POST", "PUT", "DELETE"],
    ]
    let methods = [HTTPRequest.Method.get, .head, .post, .put, .delete]
    let followed = try methods.map { try Self.next(status, to: "/b", from: .test($0))?.head.method.rawValue }
    #expect(followed == expected[status] ?? [nil, nil, nil, nil, nil])
  }

  @Test("A 3xx without Location is the response")
  func noLocation() async throws {
    let transport = ScriptedTransport(repeatingLast: .answer(302))
    let error = try await TransportNetworkStack(transport).failure(of: .test())
    #expect(error.statusCode == .found && transport.requests.count == 1)
  }

  @Test("A changed method drops the body and its fields; an unchanged one keeps all")
  func bodies() throws {
    let fields: HTTPFields = [
      .contentType: "text/plain", .contentLength: "1", .contentEncoding: "gzip", .contentLanguage: "de",
      .contentLocation: "/x", .accept: "*/*", .expect: "100-continue",
    ]
    var request = try ResourceRequest.test(.post, fields: fields, body: .raw("x"))
    request.head.headerFields[try #require(HTTPField.Name("Digest"))] = "d"
    let rewritten = try #require(try Self.next(303, to: "/b", from: request))
    #expect(rewritten.head.headerFields.map(\.name) == [.accept])
    #expect(rewritten.body.isEmpty)
    let kept = try #require(try Self.next(307, to: "/b", from: request))
    #expect(kept.head.headerFields == request.head.headerFields)
    #expect(kept.body.length == 1)
  }

  @Test(
    "Locations are resolved against the URL",
    arguments: [
      ("/x", "https://example.com/x"), ("x", "https://example.com/a/x"), ("../x", "https://example.com/x"),
      ("../../../x", "https://example.com/x"), ("./x/./y/../z", "https://example.com/a/x/z"),
      ("..", "https://example.com/"),
      (".", "https://example.com/a/"), ("%2e%2E/x", "https://example.com/x"), ("?y=2", "https://example.com/a/b?y=2"),
      ("", "https://example.com/a/b?q=1"), ("#f", "https://example.com/a/b?q=1#f"),
      ("x?y#f", "https://example.com/a/x?y#f"),
      ("//other.org/x", "https://other.org/x"), ("//other.org", "https://other.org/"),
      ("https://OTHER.org:443/x", "https://other.org/x"), ("https://other.org:8443", "https://other.org:8443/"),
      ("HTTPS://other.org/x//y", "https://other.org/x//y"), ("https://[::1]:8443/x", "https://[::1]:8443/x"),
      ("/a b?c d", "https://example.com/a%20b?c%20d"), ("/grüß", "https://example.com/gr%C3%BC%C3%9F"),
      ("/a%2Fb", "https://example.com/a%2Fb"), ("  /x\t", "https://example.com/x"),
      ("/x?a/../b", "https://example.com/x?a/../b"),
      ("x:y/z", nil), ("/x:y", "https://example.com/x:y"), ("/\\evil.org", "https://example.com/%5Cevil.org"),
      ("https://example.com./", "https://example.com./"),
    ] as [(String, String?)])
  func resolution(location: String, expected: String?) throws {
    let base = try RequestTarget("https://example.com/a/b?q=1")
    #expect((try? RedirectTarget(location, base: base, fragment: nil))?.url == expected)
  }

  @Test("The fragment is kept if the location has none")
  func fragments() throws {
    let base = try RequestTarget("https://example.com/a")
    #expect(try RedirectTarget("/b", base: base, fragment: "f").url == "https://example.com/b#f")
    #expect(try RedirectTarget("/b#g", base: base, fragment: "f").url == "https://example.com/b#g")
    #expect(try RedirectTarget("/b#", base: base, fragment: "f").url == "https://example.com/b#")
    #expect(try RedirectTarget("/b", base: base, fragment: "f").target.path == "/b")
  }

  @Test(
    "Invalid targets are not followed",
    arguments: [
      "ftp://other.org/", "file:///etc/passwd", "javascript:alert(1)", "https:/x", "https:x", "https://", "https:///x",
      "//", "https://user@other.org/", "https://user:pw@other.org/", "//user@other.org/", "https://other.org:0/",
      "https://other.org:65536/", "https://other.org:8a/", "https://other.org:-1/", "https://[::1/", "https://[::g]/",
      "https://other org/", "https://oth\u{7}er.org/", "https://other.org:80:81/", "https://%00.org/",
      "https://a\\b.org/",
    ])
  func refused(location: String) async throws {
    let transport = ScriptedTransport(repeatingLast: .redirect(to: location))
    let error = try await TransportNetworkStack(transport).failure(of: .test())
    guard case .redirect = error.reason else { throw error }
    #expect(error.stage == .redirect && error.code == .invalidRedirect)
    #expect(error.statusCode == .found)
    #expect(transport.requests.count == 1)
    #expect(error.attempts.first?.requestSent == true)
    #expect(!error.description.contains("pw"))
  }

  @Test("A redirect from https to http is refused unless allowed, and one from http to https is followed")
  func downgrade() async throws {
    let stack = TransportNetworkStack(
      ScriptedTransport(repeatingLast: .redirect(to: "http://example.com/b"), .answer(200)))
    let error = try await stack.failure(of: .test())
    #expect(error.stage == .redirect && error.code == .insecureRedirect)
    var options = RequestOptions()
    options.redirects = .follow(allowsInsecure: true)
    let transport = ScriptedTransport(repeatingLast: .redirect(to: "http://example.com/b"), .answer(200))
    let value = try await TransportNetworkStack(transport).fetch(.test(options: options))
    #expect(value.response.url == "http://example.com/b")
    let upgrade = TransportNetworkStack(
      ScriptedTransport(repeatingLast: .redirect(to: "https://example.com/b"), .answer(200)))
    #expect(try await upgrade.fetch(.test(url: "http://example.com/a")).response.redirects == ["https://example.com/b"])
  }

  @Test("A redirect beyond the limit is a failure, and with a limit of 0 the response is returned")
  func limits() async throws {
    for limit in [1, 3] {
      let transport = ScriptedTransport { (_, index) throws(TransportError) in .redirect(to: "/\(index)") }
      let stack = TransportNetworkStack(transport) { $0.redirects = .follow(limit: limit) }
      let error = try await stack.failure(of: .test())
      #expect(error.stage == .redirect && error.code == .tooManyRedirects)
      #expect(transport.requests.count == limit + 1)
      #expect(error.attempts.first?.redirects.count == limit)
    }
    let transport = ScriptedTransport(repeatingLast: .answer(302, fields: [.location: "/b"], body: #"{"message":"m"}"#))
    let stack = TransportNetworkStack(transport) { $0.redirects = .none }
    let error = try await stack.failure(of: PipelineTests.typed())
    guard case .http(.found, APIFailure(message: "m")?) = error.reason else { throw error }
    #expect(error.response?.headerFields[.location] == "/b" && transport.requests.count == 1)
  }

  @Test("The default limit is 20")
  func defaultLimit() async throws {
    let transport = ScriptedTransport { (_, index) throws(TransportError) in .redirect(to: "/\(index)") }
    _ = try await TransportNetworkStack(transport).failure(of: .test())
    #expect(transport.requests.count == 21)
  }

  @Test("Loops are detected by method and URL, ignoring the fragment")
  func loops() async throws {
    let toSelf = try await TransportNetworkStack(ScriptedTransport(repeatingLast: .redirect(to: "#x"))).failure(
      of: .test())
    #expect(toSelf.code == .redirectLoop)
    let transport = ScriptedTransport(repeatingLast: .redirect(to: "/b"), .redirect(to: "/a"))
    let pair = try await TransportNetworkStack(transport).failure(of: .test())
    #expect(pair.code == .redirectLoop && transport.requests.count == 2)
    let post = ScriptedTransport(repeatingLast: .redirect(303, to: "/a"), .answer(200))
    _ = try await TransportNetworkStack(post).fetch(.test(.post))
    #expect(post.requests.map(\.head.method) == [.post, .get])
  }

  @Test("A one-shot body stops a redirect that needs it, and no other")
  func oneShot() async throws {
    let body = RequestBody(source: .stream(length: 1, isReplayable: false) { { nil } })
    for (status, code) in [
      (307, FailureCode.redirectBodyNotReplayable), (308, .redirectBodyNotReplayable), (303, nil), (302, nil),
    ] {
      let transport = ScriptedTransport(repeatingLast: .redirect(status, to: "/b"), .answer(200))
      let stack = TransportNetworkStack(transport)
      if let code {
        let error = try await stack.failure(of: .test(.post, body: body))
        #expect(error.stage == .redirect && error.code == code && transport.requests.count == 1)
      } else {
        _ = try await stack.fetch(.test(.post, body: body))
        #expect(transport.requests.count == 2)
      }
    }
  }

  static let secrets: HTTPFields = [
    .authorization: "Bearer s", .cookie: "c=1", .proxyAuthorization: "p", .wwwAuthenticate: "w",
    .origin: "https://example.com", .accept: "*/*",
  ]

  @Test(
    "Credentials are dropped when scheme, host or effective port changes",
    arguments: [
      ("/b", true), ("https://EXAMPLE.com:443/b", true), ("https://example.com:8443/b", false),
      ("https://www.example.com/b", false), ("//other.org/b", false), ("http://example.com/b", false),
      ("https://example.com./b", false),
    ])
  func stripping(location: String, isKept: Bool) async throws {
    let transport = ScriptedTransport(repeatingLast: .redirect(307, to: location), .answer(200))
    let stack = TransportNetworkStack(transport) { $0.redirects = .follow(allowsInsecure: true) }
    var options = RequestOptions()
    let apiKey = try #require(HTTPField.Name("X-API-Key"))
    options.sensitiveHeaders = [apiKey]
    var fields = Self.secrets
    fields[apiKey] = "k"
    let fetched = try await stack.fetch(.test(fields: fields, options: options))
    #expect("\(fetched.response.ledger)".contains(", 1 redirect"))
    #expect(!"\(fetched.response.ledger)".contains("redirects"))
    let second = try #require(transport.requests.last)
    #expect(second.head.headerFields[.accept] == "*/*")
    for name in [HTTPField.Name.authorization, .cookie, .proxyAuthorization, .wwwAuthenticate, .origin, apiKey] {
      #expect((second.head.headerFields[name] != nil) == isKept)
    }
  }

  @Test("Dropped credentials are not restored when a redirect returns to the first origin")
  func bounce() async throws {
    let transport = ScriptedTransport(
      repeatingLast:
        .redirect(to: "https://other.org/"), .redirect(to: "https://example.com/back"), .answer(200))
    _ = try await TransportNetworkStack(transport).fetch(.test(fields: Self.secrets))
    #expect(transport.requests.map { $0.head.headerFields[.authorization] } == ["Bearer s", nil, nil])
  }

  static func adding(_ value: String, origins: [Origin] = []) -> Hooks {
    Hooks(
      credentialOrigins: origins,
      make: { result, _ in
        result.map {
          var request = $0
          request.head.headerFields[.authorization] = value
          return request
        }
      })
  }

  @Test("Credentials added by an interceptor are dropped, unless the new origin is one of its own")
  func addedBack() async throws {
    let other = try Origin("https://other.org")
    for (interceptors, expected) in [
      ([Self.adding("a")], [String?("a"), nil, nil]),
      ([Self.adding("a", origins: [other])], ["a", "a", nil]),
      ([Self.adding("a", origins: [other]), Self.adding("b")], ["b", "a", nil]),
      ([Self.adding("a"), Self.adding("b", origins: [other])], ["b", "b", nil]),
    ] {
      let transport = ScriptedTransport(
        repeatingLast:
          .redirect(to: "https://other.org/"), .redirect(to: "https://example.com/back"), .answer(200))
      _ = try await TransportNetworkStack(transport).fetch(.test(interceptors: interceptors))
      #expect(transport.requests.map { $0.head.headerFields[.authorization] } == expected)
    }
  }

  @Test("Credentials for one origin do not follow when a later interceptor changes the URL")
  func movedBehind() async throws {
    let other = try Origin("https://other.org")
    let move = Hooks(make: { result, context in
      result.map {
        var request = $0
        if context.hop > 0 { request.head.authority = "third.org" }
        return request
      }
    })
    let transport = ScriptedTransport(repeatingLast: .redirect(to: "https://other.org/"), .answer(200))
    _ = try await TransportNetworkStack(transport).fetch(
      .intercepted(by: Self.adding("a", origins: [other]), move))
    #expect(transport.requests.last?.head.authority == "third.org")
    #expect(transport.requests.last?.head.headerFields[.authorization] == nil)
  }

  @Test("Every hop calls the make and scheduled hooks, which see the URL it was redirected from")
  func hooks() async throws {
    let events = EventRecorder<String>()
    let hooks = Hooks(
      make: { result, context in
        let from = context.redirectedFrom.map { "\($0.status.code) \($0.url)" } ?? "nowhere"
        events.record("make \(context.hop) from \(from)")
        return result
      },
      scheduled: { events.record("scheduled \($1.hop) \($0.url)") })
    let transport = ScriptedTransport(
      repeatingLast: .redirect(to: "/b"), .redirect(301, to: "https://other.org/c#f"), .answer(200))
    let value = try await TransportNetworkStack(transport).fetch(.intercepted(by: hooks))
    #expect(
      events.events == [
        "make 0 from nowhere", "scheduled 0 https://example.com/a",
        "make 1 from 302 https://example.com/a", "scheduled 1 https://example.com/b",
        "make 2 from 301 https://example.com/b", "scheduled 2 https://other.org/c",
      ])
    #expect(value.response.redirects == ["https://example.com/b", "https://other.org/c#f"])
    #expect(value.response.url == "https://other.org/c#f")
    #expect(value.response.attempts.first?.redirects == value.response.redirects)
  }

  @Test("An interceptor can refuse a hop")
  func refusedHop() async throws {
    let hooks = Hooks(make: { $1.hop > 0 ? .failure(TestError(name: "no")) : $0 })
    let transport = ScriptedTransport(repeatingLast: .redirect(to: "/b"), .answer(200))
    let error = try await TransportNetworkStack(transport).failure(of: .intercepted(by: hooks))
    guard case .noRequest(let cause) = error.reason else { throw error }
    #expect(cause as? TestError == TestError(name: "no") && transport.requests.count == 1)
    #expect(error.attempts.first?.requestSent == true)
  }

  @Test("The body of a redirect is discarded")
  func intermediateBody() async throws {
    let source = GivenUpSource()
    let transport = ScriptedTransport { (_, index) throws(TransportError) in
      guard index == 0 else { return .answer(200, body: "done") }
      return TransferResponse(
        head: HTTPResponse(status: .found, headerFields: [.location: "/b"]), body: ResponseBody(source: source))
    }
    #expect(try await TransportNetworkStack(transport).fetch(.test()).value == Data("done".utf8))
    #expect(source.isCancelled.events == [true] || source.isCancelled.events == [true, true])
  }

  @Test("A Host field of the application does not reach the new host")
  func hostField() async throws {
    let host = try #require(HTTPField.Name("Host"))
    let transport = ScriptedTransport(repeatingLast: .redirect(to: "https://other.org/"), .answer(200))
    _ = try await TransportNetworkStack(transport).fetch(.test(fields: [host: "example.com"]))
    #expect(transport.requests.map { $0.head.headerFields[host] } == ["example.com", nil])
  }

  @Test("More than one Location is refused, whatever they contain", arguments: ["/b", "/c"])
  func severalLocations(second: String) async throws {
    var fields = HTTPFields()
    fields.append(HTTPField(name: .location, value: "/b"))
    fields.append(HTTPField(name: .location, value: second))
    let transport = ScriptedTransport(repeatingLast: .answer(302, fields: fields), .answer(200))
    let error = try await TransportNetworkStack(transport).failure(of: .test())
    #expect(error.stage == .redirect && error.code == .invalidRedirect)
    #expect(transport.requests.count == 1)
  }

  static func withIdentity() -> RequestOptions {
    var options = RequestOptions()
    var connection = ConnectionOptions()
    connection.tls.identity = .init(certificate: .file("client.pem"))
    connection.unixSocketPath = "/kept"
    options.connection = connection
    return options
  }

  @Test("A request's client certificate is dropped with the other credentials, also if an interceptor adds it")
  func clientCertificate() async throws {
    let addAgain = Hooks(make: { result, _ in
      result.map {
        var request = $0
        request.options = Self.withIdentity()
        return request
      }
    })
    for interceptors in [[], [addAgain]] {
      let transport = ScriptedTransport(
        repeatingLast: .redirect(to: "/b"), .redirect(to: "https://other.org/"), .answer(200))
      _ = try await TransportNetworkStack(transport).fetch(
        .test(options: Self.withIdentity(), interceptors: interceptors))
      #expect(transport.requests.map { $0.connection?.tls.identity != nil } == [true, true, false])
      #expect(transport.requests.map { $0.connection?.unixSocketPath } == ["/kept", "/kept", "/kept"])
    }
  }

  @Test("The response's URL is the requested one, also where an interceptor rewrote the hop")
  func rewrittenHop() async throws {
    let move = Hooks(make: { result, context in
      result.map {
        var request = $0
        if context.hop > 0 { request.head.path = "/moved" }
        return request
      }
    })
    let transport = ScriptedTransport(repeatingLast: .redirect(to: "/b#f"), .answer(200))
    let response = try await TransportNetworkStack(transport).fetch(.intercepted(by: move)).response
    #expect(response.url == "https://example.com/moved")
    #expect(response.redirects == ["https://example.com/b#f"])
  }

  @Test(
    "A combining mark does not hide a delimiter",
    arguments: [
      ("/x#\u{301}f", "https://example.com/x#%CC%81f"), ("/x?\u{301}y", "https://example.com/x?%CC%81y"),
      ("/\u{301}x", "https://example.com/%CC%81x"), ("/a \u{301}b", "https://example.com/a%20%CC%81b"),
      ("http:\u{301}//other.org/", nil), ("//\u{301}.org/", nil), ("//a.\u{301}b.org/", nil),
      ("https://other.org:\u{301}80/", nil),
    ] as [(String, String?)])
  func combiningMarks(location: String, expected: String?) throws {
    let base = try RequestTarget("https://example.com/a/b?q=1")
    #expect((try? RedirectTarget(location, base: base, fragment: nil))?.url == expected)
  }
}

private final class GivenUpSource: ResponseBodySource {
  let isCancelled = EventRecorder<Bool>()
  func next() async throws(TransportError) -> Data? { nil }
  func cancel() { isCancelled.record(true) }
  var finalFacts: TransferFacts? { nil }
}

@Suite("Origin", .timeLimit(.minutes(15)))
struct OriginTests {
  @Test(
    "Origins are equal by scheme, lower-cased host and effective port",
    arguments: [
      ("https://Example.com/a?b#c", "https", "example.com", 443), ("http://example.com", "http", "example.com", 80),
      ("https://example.com:8443", "https", "example.com", 8443),
      ("http://example.com:443/", "http", "example.com", 443),
      ("https://[2001:DB8::1]/", "https", "[2001:db8::1]", 443), ("https://[::1]:9", "https", "[::1]", 9),
      ("https://example.com:", "https", "example.com", 443),
    ])
  func parts(url: String, scheme: String, host: String, port: Int) throws {
    let origin = try Origin(url)
    #expect(origin.scheme == scheme && origin.host == host && origin.port == port)
    let request = try ResourceRequest(method: "GET", url: url)
    #expect(Origin(request.head) == origin)
  }

  @Test(
    "An invalid origin is refused with a reason",
    arguments: [
      ("", "begin it with https:// or http://"), ("example.com", "begin it with https:// or http://"),
      ("ftp://example.com", "scheme ftp is not supported"), ("https://", "no host"),
      ("https://u@example.com", "user information"), ("https://a:b", "port"),
    ])
  func none(url: String, reason: String) throws {
    let error = try #require(throws: ConfigurationError.self) { try Origin(url) }
    #expect(error.description.hasPrefix("cannot read an origin: ") && error.description.contains(reason))
  }

  @Test("The text of an origin omits the default port")
  func text() throws {
    #expect(try Origin("https://EXAMPLE.com:443/x").description == "https://example.com")
    #expect(try Origin("http://example.com:8080").description == "http://example.com:8080")
  }
}
