// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import LastroTesting
import LastroWire
import TestSupport
import Testing

@testable import Lastro

@Suite("Digest authentication: calls", .timeLimit(.minutes(15)))
struct DigestAuthenticatorTests {
  private static let url = "https://example.com/a?b=c"

  private static func authenticator(
    _ origins: String..., user: String = "user", password: Secret = "hunter2", allowsMD5: Bool = true
  ) throws -> DigestAuthenticator {
    try DigestAuthenticator(
      user: user, password: password,
      origins: (origins.isEmpty ? ["https://example.com"] : origins).map { try Origin($0) },
      allowsMD5: allowsMD5, random: .seeded(1))
  }

  private static func refusal(_ challenge: String) -> ScriptedTransport.Step {
    .respond(status: 401, headers: [.wwwAuthenticate: challenge])
  }

  private static func ask(_ nonce: String, _ more: String = "") -> ScriptedTransport.Step {
    refusal("Digest realm=\"r\", qop=\"auth\", algorithm=SHA-256, nonce=\"\(nonce)\"" + more)
  }

  private static func success(_ information: String) throws -> ScriptedTransport.Step {
    let name = try #require(HTTPField.Name("Authentication-Info"))
    return .respond(status: 200, headers: [name: information])
  }

  /// Returns each request's digest as `nonce/nc`; `-` for a request without credentials.
  private static func words(_ transport: ScriptedTransport) -> [String] {
    transport.requests.map { request in
      guard let digest = parameters(request) else { return "-" }
      return "\(digest["nonce"] ?? "")/\(digest["nc"].flatMap { UInt32($0, radix: 16) } ?? 0)"
    }
  }

  private static func parameters(_ request: TransferRequest) -> AuthenticationChallenge? {
    request.head.headerFields[.authorization].flatMap { AuthenticationChallenge.read($0).first }
  }

  private static func stack(
    _ authenticator: DigestAuthenticator, _ steps: ScriptedTransport.Step...
  ) -> (TransportNetworkStack, ScriptedTransport) {
    let transport = ScriptedTransport(steps)
    var configuration = StackConfiguration()
    configuration.interceptors = [authenticator]
    return (TransportNetworkStack(transport: transport, configuration: configuration), transport)
  }

  @Test("After one challenge, requests carry the next count at once, and the digest covers path and query as sent")
  func preemptive() async throws {
    let (stack, transport) = Self.stack(
      try Self.authenticator(), Self.ask("n1"), .respond(status: 200), .respond(status: 200), .respond(status: 200))
    for _ in 0..<3 { _ = try await stack.fetch(.test(url: Self.url)) }
    #expect(Self.words(transport) == ["-", "n1/1", "n1/2", "n1/3"])
    let sent = transport.requests.compactMap(Self.parameters)
    #expect(sent.allSatisfy { $0["uri"] == "/a?b=c" && $0["qop"] == "auth" })
    #expect(Set(sent.map { $0["cnonce"] }).count == 3 && sent.allSatisfy { $0["cnonce"]?.count == 32 })
  }

  @Test("Refused credentials are not sent a third time, and the challenge is forgotten")
  func wrongPassword() async throws {
    let (stack, transport) = Self.stack(try Self.authenticator(), Self.ask("n1"), Self.ask("n2"), Self.ask("n3"))
    let error = try await stack.failure(of: .test(url: Self.url))
    #expect(error.statusCode == .unauthorized && error.attempts.count == 2)
    _ = try await stack.failure(of: RawHTTPResource.test(.head, url: "https://example.com/x"))
    #expect(Self.words(transport) == ["-", "n1/1", "-"] + ["n3/1"])
  }

  @Test("A stale nonce costs one more request with the new nonce, and no more than that")
  func stale() async throws {
    let (stack, transport) = Self.stack(
      try Self.authenticator(), Self.ask("n1"), .respond(status: 200),
      Self.ask("n2", ", stale=TRUE"), .respond(status: 200),
      Self.ask("n3", ", stale=true"), Self.ask("n4", ", stale=true"), Self.ask("n5", ", stale=true"))
    _ = try await stack.fetch(.test(url: Self.url))
    _ = try await stack.fetch(.test(url: Self.url))
    let error = try await stack.failure(of: .test(url: Self.url))
    #expect(error.attempts.count == 3 && transport.remainingSteps == 0)
    #expect(Self.words(transport) == ["-", "n1/1", "n1/2", "n2/1", "n2/2", "n3/1", "n4/1"])
  }

  @Test("An unauthenticated request followed by a stale nonce takes three requests at most")
  func staleAfterFirst() async throws {
    let (stack, transport) = Self.stack(
      try Self.authenticator(), Self.ask("n1"), Self.ask("n2", ", stale=true"), .respond(status: 200))
    _ = try await stack.fetch(.test(url: Self.url))
    #expect(Self.words(transport) == ["-", "n1/1", "n2/1"])
  }

  @Test("When the same nonce is refused and not stale, the password is wrong, and the call ends")
  func sameNonce() async throws {
    let (stack, transport) = Self.stack(
      try Self.authenticator(), Self.ask("n1"), .respond(status: 200), Self.ask("n1"), Self.ask("n1"), Self.ask("n1"))
    _ = try await stack.fetch(.test(url: Self.url))
    #expect(try await stack.failure(of: .test(url: Self.url)).attempts.count == 1)
    #expect(try await stack.failure(of: .test(url: Self.url)).attempts.count == 2)
    #expect(Self.words(transport) == ["-", "n1/1", "n1/2", "-", "n1/3"])
  }

  @Test("A nonce that the server forgot without reporting it as stale is replaced")
  func forgottenNonce() async throws {
    let (stack, transport) = Self.stack(
      try Self.authenticator(), Self.ask("n1"), .respond(status: 200), Self.ask("n2"), .respond(status: 200))
    for _ in 0..<2 { _ = try await stack.fetch(.test(url: Self.url)) }
    #expect(Self.words(transport) == ["-", "n1/1", "n1/2", "n2/1"])
  }

  @Test("A POST is sent again with its body after a 401, once, unless its body cannot be repeated")
  func bodies() async throws {
    let reading = ScriptedTransport.Step.perform { request throws(TransportError) in
      if case .stream(_, _, let open) = request.body.source { _ = open() }
      let challenge = "Digest realm=r, qop=auth, nonce=n2, stale=true, algorithm=SHA-256"
      return .answer(401, fields: [.wwwAuthenticate: challenge])
    }
    let (stack, transport) = Self.stack(
      try Self.authenticator(), Self.ask("n1"), .respond(status: 201), reading, .respond(status: 201))
    _ = try await stack.fetch(.test(.post, body: .raw("payload")))
    let once = RequestBody.stream(AsyncStream<Data> { $0.finish() })
    let error = try await stack.failure(of: RawHTTPResource.test(.post, body: once))
    #expect(error.retryEnd?.description.contains("cannot be sent again") == true)
    // The failed request could not be sent again, but it still brought the new challenge.
    _ = try await stack.fetch(.test(.post, body: once))
    #expect(Self.words(transport) == ["-", "n1/1", "n1/2", "n2/1"])
    #expect(transport.requests.prefix(2).allSatisfy { $0.body.length == 7 })
  }

  @Test("Auth-int covers bodies in memory; requests with other bodies are sent without credentials")
  func authInt() async throws {
    let ask = Self.refusal("Digest realm=r, qop=auth-int, nonce=n1")
    let (stack, transport) = Self.stack(
      try Self.authenticator(), ask, .respond(status: 200), .respond(status: 200), ask)
    _ = try await stack.fetch(.test(.post, url: Self.url, body: .raw("a=b")))
    _ = try await stack.fetch(.test(url: Self.url))
    let stream = RequestBody.stream(AsyncStream<Data> { $0.finish() }, isReplayable: true)
    #expect(try await stack.failure(of: RawHTTPResource.test(.post, body: stream)).attempts.count == 1)
    #expect(Self.words(transport) == ["-", "n1/1", "n1/2", "-"])
    let sent = try #require(Self.parameters(transport.requests[1]))
    func hash(_ text: String) throws -> String { try MessageDigest(of: Array(text.utf8), .md5).hexadecimal }
    let request = try hash("POST:/a?b=c:\(try hash("a=b"))")
    let expected = "\(try hash("user:r:hunter2")):n1:00000001:\(sent["cnonce"] ?? ""):auth-int:\(request)"
    #expect(sent["response"] == (try hash(expected)))
  }

  @Test("Nextnonce is used for the next request, and a session keeps its first nonces")
  func nextNonce() async throws {
    let (stack, transport) = Self.stack(
      try Self.authenticator(), Self.refusal("Digest realm=r, qop=auth, nonce=n1, algorithm=MD5-sess"),
      try Self.success("nextnonce=\"n2\""), .respond(status: 200),
      .respond(status: 404, headers: [try #require(HTTPField.Name("Authentication-Info")): "nextnonce=n3"]),
      .respond(status: 200))
    for _ in 0..<2 { _ = try await stack.fetch(.test(url: Self.url)) }
    _ = try await stack.failure(of: .test(url: Self.url))
    _ = try await stack.fetch(.test(url: Self.url))
    #expect(Self.words(transport) == ["-", "n1/1", "n2/1", "n2/2", "n3/1"])
    let sent = transport.requests.compactMap(Self.parameters)
    #expect(Set(sent.map { $0["cnonce"] }).count == 1)
    func hash(_ text: String) throws -> String { try MessageDigest(of: Array(text.utf8), .md5).hexadecimal }
    let nonce = sent[0]["cnonce"] ?? ""
    let secret = try hash("\(try hash("user:r:hunter2")):n1:\(nonce)")
    #expect(sent[3]["response"] == (try hash("\(secret):n3:00000001:\(nonce):auth:\(try hash("GET:/a?b=c"))")))
  }

  @Test("A correct server proof changes nothing, and a wrong one discards the challenge")
  func serverProof() async throws {
    let authenticator = try Self.authenticator()
    let name = try #require(HTTPField.Name("Authentication-Info"))
    let prove = ScriptedTransport.Step.perform { request throws(TransportError) in
      func hash(_ text: String) -> String { (try? MessageDigest(of: Array(text.utf8)).hexadecimal) ?? "" }
      let sent = request.head.headerFields[.authorization].flatMap { AuthenticationChallenge.read($0).first }
      let proof =
        "\(hash("user:r:hunter2")):n1:\(sent?["nc"] ?? ""):\(sent?["cnonce"] ?? ""):auth:\(hash(":/a?b=c"))"
      return TransferResponse(
        head: HTTPResponse(status: .ok, headerFields: [name: "rspauth=\"\(hash(proof))\", qop=auth"]),
        body: ResponseBody(Data()))
    }
    let (stack, transport) = Self.stack(
      authenticator, Self.ask("n1"), prove, prove,
      try Self.success("rspauth=\"\(String(repeating: "0", count: 64))\", nextnonce=n2"), .respond(status: 200))
    for _ in 0..<4 { _ = try await stack.fetch(.test(url: Self.url)) }
    #expect(Self.words(transport) == ["-", "n1/1", "n1/2", "n1/3", "-"])
  }

  @Test("MD5 is used only if allowed, other schemes never, and without a challenge there is no retry")
  func unanswerable() async throws {
    let (stack, transport) = Self.stack(
      try Self.authenticator(allowsMD5: false), Self.refusal("Digest realm=r, nonce=n, qop=auth"),
      Self.refusal("Basic realm=r"), .respond(status: 401), Self.ask("n1"), .respond(status: 200))
    for _ in 0..<3 { #expect(try await stack.failure(of: .test(url: Self.url)).attempts.count == 1) }
    _ = try await stack.fetch(.test(url: Self.url))
    #expect(Self.words(transport) == ["-", "-", "-", "-", "n1/1"])
  }

  @Test("Challenges of other origins are not answered, and a redirect carries no credentials")
  func otherOrigins() async throws {
    let (stack, transport) = Self.stack(
      try Self.authenticator(), Self.ask("n1"), .respond(status: 200), Self.ask("x1"),
      .respond(status: 307, headers: [.location: "/c"]),
      .respond(status: 307, headers: [.location: "https://example.org/d"]), Self.ask("x2"))
    _ = try await stack.fetch(.test(url: Self.url))
    #expect(try await stack.failure(of: .test(url: "https://example.org/")).attempts.count == 1)
    #expect(try await stack.failure(of: .test(url: Self.url)).attempts.count == 1)
    #expect(Self.words(transport) == ["-", "n1/1", "-", "n1/2", "n1/3", "-"])
    #expect(transport.requests.compactMap(Self.parameters).map { $0["uri"] } == ["/a?b=c", "/a?b=c", "/c"])
  }

  @Test("Each origin has its own challenge")
  func origins() async throws {
    let (stack, transport) = Self.stack(
      try Self.authenticator("https://example.com", "http://example.com"), Self.ask("n1"), .respond(status: 200),
      Self.ask("m1"), .respond(status: 200), .respond(status: 200), .respond(status: 200))
    for url in [Self.url, "http://example.com/", Self.url, "http://example.com/"] {
      _ = try await stack.fetch(.test(url: url))
    }
    #expect(Self.words(transport) == ["-", "n1/1", "-", "m1/1", "n1/2", "m1/2"])
  }

  @Test("Thousands of concurrent calls use no count twice, and each is answered")
  func concurrency() async throws {
    let authenticator = try Self.authenticator()
    let issued = EventRecorder<String>()
    let used = EventRecorder<String>()
    let transport = ScriptedTransport(handler: { request throws(TransportError) in
      guard let sent = request.head.headerFields[.authorization].flatMap({ AuthenticationChallenge.read($0).first })
      else {
        let number = issued.record("")
        let challenge = "Digest realm=r, qop=auth, algorithm=SHA-256, nonce=n\(number)"
        return .answer(401, fields: [.wwwAuthenticate: challenge])
      }
      used.record("\(sent["nonce"] ?? "") \(sent["nc"] ?? "")")
      return .answer(200)
    })
    var configuration = StackConfiguration()
    configuration.interceptors = [authenticator]
    let stack = TransportNetworkStack(transport: transport, configuration: configuration)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<3_000 { group.addTask { _ = try await stack.fetch(.test(url: Self.url)) } }
      try await group.waitForAll()
    }
    #expect(used.events.count == 3_000)
    #expect(Set(used.events).count == 3_000)
    // All requests use the first challenge; challenges that other requests received were not needed.
    let nonces = Set(used.events.map { $0.prefix { $0 != " " } })
    #expect(nonces.count == 1)
  }

  @Test("No count is used twice when nextnonce repeats the nonce in use, or a stale nonce is offered again")
  func sameNonceAgain() async throws {
    let (stack, transport) = Self.stack(
      try Self.authenticator(), Self.ask("n1"), try Self.success("nextnonce=n1"), .respond(status: 200),
      Self.ask("n1", ", stale=true"), .respond(status: 200))
    for _ in 0..<3 { _ = try await stack.fetch(.test(url: Self.url)) }
    #expect(Self.words(transport) == ["-", "n1/1", "n1/2", "n1/3", "n1/4"])
  }

  @Test("With two realms at one origin, each of many concurrent calls answers the challenge of its own 401")
  func realms() async throws {
    let used = EventRecorder<String>()
    let transport = ScriptedTransport(handler: { request throws(TransportError) in
      let realm = request.head.path == "/a" ? "a" : "b"
      let sent = Self.parameters(request)
      guard let sent, sent["realm"] == realm else {
        let challenge = "Digest realm=\(realm), qop=auth, algorithm=SHA-256, nonce=n-\(realm)"
        return .answer(401, fields: [.wwwAuthenticate: challenge])
      }
      used.record("\(sent["nonce"] ?? "") \(sent["nc"] ?? "")")
      return .answer(200)
    })
    var configuration = StackConfiguration()
    configuration.interceptors = [try Self.authenticator()]
    let stack = TransportNetworkStack(transport: transport, configuration: configuration)
    try await withThrowingTaskGroup(of: Int.self) { group in
      for index in 0..<1_000 {
        let path = index % 2 == 0 ? "a" : "b"
        group.addTask { try await stack.fetch(.test(url: "https://example.com/\(path)")).response.attempts.count }
      }
      for try await attempts in group { #expect(attempts <= 2) }
    }
    #expect(used.events.count == 1_000 && Set(used.events).count == 1_000)
  }

  @Test("A refusal of another realm's digest is not final, within three requests at most")
  func changingRealm() async throws {
    func ask(_ realm: String) -> ScriptedTransport.Step {
      Self.refusal("Digest realm=\(realm), qop=auth, algorithm=SHA-256, nonce=n-\(realm)")
    }
    let (stack, transport) = Self.stack(
      try Self.authenticator(), ask("a"), ask("b"), .respond(status: 200), ask("c"), ask("d"), ask("e"))
    _ = try await stack.fetch(.test(url: Self.url))
    #expect(try await stack.failure(of: .test(url: Self.url)).attempts.count == 3)
    #expect(Self.words(transport) == ["-", "n-a/1", "n-b/1", "n-b/2", "n-c/1", "n-d/1"])
  }

  @Test("The number of realms per origin is bounded, and the most recent challenges are kept")
  func manyRealms() throws {
    var sessions = DigestSessions()
    let origin = try Origin("https://example.com")
    for index in 0..<100 {
      let offered = AuthenticationChallenge.read("Digest realm=r\(index), nonce=n")
      let challenge = try #require(DigestChallenge.strongest(of: offered, allowsMD5: true))
      sessions.storeChallenge(challenge, at: origin, refused: nil, clientNonce: "c")
    }
    let known = (0..<100).filter { sessions.current(at: origin, realm: "r\($0)") != nil }
    #expect(known == Array(84..<100) && sessions.current(at: origin)?.challenge.realm == "r99")
  }

  @Test("Credentials of another scheme are kept, and their refusal is not answered")
  func otherCredentials() async throws {
    let (stack, transport) = Self.stack(
      try Self.authenticator(), Self.ask("n1"), .respond(status: 200), Self.ask("n1"), .respond(status: 200))
    _ = try await stack.fetch(.test(url: Self.url))
    let resource = try RawHTTPResource.test(url: Self.url, fields: [.authorization: "Bearer t"])
    #expect(try await stack.failure(of: resource).attempts.count == 1)
    _ = try await stack.fetch(.test(url: Self.url))
    #expect(transport.requests[2].head.headerFields[.authorization] == "Bearer t")
    #expect(Self.parameters(transport.requests[3])?["nc"] == "00000002")
  }

  @Test("A digest for a URL longer than the limit for a server's field is recognised as our own")
  func longURL() async throws {
    let url = "https://example.com/a?" + String(repeating: "x", count: 20_000)
    let (stack, transport) = Self.stack(try Self.authenticator(), Self.ask("n1"), Self.ask("n2"), .respond(status: 200))
    #expect(try await stack.failure(of: .test(url: url)).attempts.count == 2)
    #expect(transport.remainingSteps == 1)
  }

  @Test("An exhausted nonce count starts again")
  func exhaustedCount() throws {
    var sessions = DigestSessions()
    let origin = try Origin("https://example.com")
    let challenge = try #require(
      DigestChallenge.strongest(of: AuthenticationChallenge.read("Digest realm=r, nonce=n"), allowsMD5: true))
    sessions.storeChallenge(challenge, at: origin, refused: nil, clientNonce: "c", count: .max - 1)
    #expect(sessions.turn(at: origin)?.count == .max)
    #expect(sessions.turn(at: origin) == nil && sessions.current(at: origin) == nil)
  }

  @Test("Arbitrary hostile challenges are handled within three requests")
  func fuzz() async throws {
    let random = RandomSource.seeded(2617)
    let parts = [
      "Digest ", "realm=\"r\"", ", ", "nonce=\"", "\"", "qop=\"auth,auth-int\"", "algorithm=", "SHA-256", "MD5-sess",
      "stale=true", "userhash=true", "opaque=\"\\\"\"", "Basic", "charset=UTF-8", "\\", "nonce=n", "é", "=", "\t",
    ]
    for _ in 0..<1_500 {
      let challenge = (0..<(random.next() % 14)).map { _ in parts[Int(random.next() % UInt64(parts.count))] }.joined()
      let transport = ScriptedTransport(handler: { _ throws(TransportError) in
        .answer(401, fields: [.wwwAuthenticate: challenge])
      })
      let stack = TransportNetworkStack(transport: transport)
      let resource = try RawHTTPResource.test(.post, body: .raw("x"), interceptors: [try Self.authenticator()])
      let error = try await stack.failure(of: resource)
      #expect(error.statusCode == .unauthorized && transport.requests.count <= 3)
      #expect(!error.debugDescription.contains("hunter2"))
    }
  }

  @Test("Unusable credentials are refused by the initializer, and no description shows the password")
  func secrecy() async throws {
    #expect(throws: ConfigurationError.self) { try DigestAuthenticator(user: "u", password: "p", origins: []) }
    let error = try #require(throws: ConfigurationError.self) { try Self.authenticator(password: "hunter2\r\n") }
    #expect(!"\(error)".contains("hunter2"))
    #expect(throws: ConfigurationError.self) { try Self.authenticator(user: "a\nb") }
    let authenticator = try Self.authenticator()
    var text = "\(authenticator) \(String(reflecting: authenticator))"
    dump(authenticator, to: &text)
    #expect(!text.contains("hunter2"))
  }
}
