// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import LastroCurl
import LastroSupport
import LastroTesting
import PeerSupport
import Synchronization
import TestSupport
import Testing

@Suite("Digest authentication: exchanges", .timeLimit(.minutes(15)))
struct DigestExchangeTests {
  /// Returns a stack that authenticates with a password to a server on this machine.
  private static func stack(_ url: String, user: String, password: Secret) throws -> CurlNetworkStack {
    var configuration = StackConfiguration.patient
    configuration.interceptors = [
      try DigestAuthenticator(user: user, password: password, origins: [try Origin(url)])
    ]
    return try CurlNetworkStack.direct(configuration: configuration)
  }

  private static func running(
    _ rules: DigestServer.Rules, user: String = DigestServer.user, password: String = DigestServer.password,
    _ body: (DigestServer, CurlNetworkStack, String) async throws -> Void
  ) async throws {
    let server = try DigestServer(rules)
    defer { server.stop() }
    let url = try #require(server.server?.baseURL)
    try await body(server, try stack(url, user: user, password: Secret(password)), url + "/a%20b/c?d=e,f&g=%22")
  }

  @Test(
    "An independently computing server accepts every form",
    arguments: ["SHA-256", "SHA-512-256", "MD5", "SHA-256-sess", "SHA-512-256-sess", "MD5-sess"],
    ["auth", "auth-int", "auth,auth-int"])
  func forms(algorithm: String, offered: String) async throws {
    for hashesUser in [false, true] {
      let rules = DigestServer.Rules(
        algorithm: algorithm, protection: offered == "auth-int" ? offered : "auth", hashesUser: hashesUser)
      try await Self.running(rules) { server, stack, url in
        let answer = try await stack.send(.get, url)
        #expect(answer.response.status == .ok && answer.response.attempts.count == 2)
        let posted = try await stack.send(.post, url, body: .raw("payload"))
        #expect(posted.text == "payload" && posted.response.attempts.count == 1)
        #expect(server.complaints == [])
      }
    }
  }

  @Test("A server of RFC 2069 accepts the response")
  func legacy() async throws {
    try await Self.running(.init(algorithm: "MD5", protection: nil)) { server, stack, url in
      for _ in 0..<3 { _ = try await stack.send(.get, url) }
      #expect(server.complaints == [] && server.server?.requests.count == 4)
    }
  }

  @Test("A POST is sent twice with its body, and never a third time", arguments: [false, true])
  func post(isFile: Bool) async throws {
    let path = FileManager.default.temporaryDirectory.appending(path: "lastro-digest-\(UUID().uuidString)").path
    try Data("payload".utf8).write(to: URL(filePath: path))
    defer { try? FileManager.default.removeItem(atPath: path) }
    let body = isFile ? try RequestBody.file(path: path) : .raw("payload")
    try await Self.running(.init()) { server, stack, url in
      let answer = try await stack.send(.post, url, body: body)
      #expect(answer.text == "payload")
      #expect(server.server?.requests.map(\.text) == ["payload", "payload"])
    }
    try await Self.running(.init(), password: "wrong") { server, stack, url in
      let error = try await failure { try await stack.send(.post, url, body: body) }
      #expect(error.statusCode == .unauthorized && error.attempts.count == 2)
      #expect(server.server?.requests.map(\.text) == ["payload", "payload"])
      #expect(server.complaints == ["the response is wrong"])
    }
  }

  @Test("Expired nonces are replaced within the call")
  func wearing() async throws {
    try await Self.running(.init(uses: 2)) { server, stack, url in
      for _ in 0..<7 { _ = try await stack.send(.get, url) }
      #expect(server.complaints == [])
      // One 401 at first, and one for each further nonce: 7 requests, two per nonce.
      #expect(server.server?.requests.count == 7 + 4)
    }
  }

  @Test("With a next nonce in each response, only the first request gets a 401")
  func nextNonces() async throws {
    try await Self.running(.init(uses: 1, givesNextNonce: true)) { server, stack, url in
      for _ in 0..<6 { _ = try await stack.send(.get, url) }
      #expect(server.complaints == [] && server.server?.requests.count == 7)
    }
  }

  @Test("Concurrent calls use distinct nonce counts")
  func concurrency() async throws {
    try await Self.running(.init()) { server, stack, url in
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<200 { group.addTask { _ = try await stack.send(.get, url) } }
        try await group.waitForAll()
      }
      // A repeated count would have been rejected as stale and would have cost another request.
      #expect(server.complaints == [])
      let authenticated = server.server?.requests.filter { !$0.head.values("Authorization").isEmpty }
      #expect(authenticated?.count == 200)
    }
  }

  @Test("squid accepts the response; an expired nonce costs one more request")
  func squid() async throws {
    let origin = try LoopbackServer.http { request in .text("\(request.method) \(request.text)") }
    defer { origin.stop() }
    let peer = try await DigestPeer.start(upstream: origin.port)
    defer { peer.stop() }
    let url = "http://127.0.0.1:\(peer.port)"
    let stack = try Self.stack(url, user: DigestPeer.user, password: Secret(DigestPeer.password))
    for index in 0..<(2 * DigestPeer.uses + 1) {
      let answer = try await stack.send(.post, url + "/a%20b?c=%22,\(index)", body: .raw("payload"))
      #expect(answer.text == "POST payload")
    }
    #expect(origin.requests.count == 2 * DigestPeer.uses + 1)
    #expect(origin.requests.allSatisfy { $0.head.values("Authorization").isEmpty })
    #expect(await eventually { peer.accessLog().count { $0 == "200" } == 2 * DigestPeer.uses + 1 })
    #expect((1...4).contains(peer.accessLog().count { $0 == "401" }))

    let stranger = try Self.stack(url, user: DigestPeer.user, password: "wrong")
    let error = try await failure { try await stranger.send(.post, url + "/", body: .raw("payload")) }
    #expect(error.statusCode == .unauthorized && error.attempts.count == 2)
    #expect(origin.requests.count == 2 * DigestPeer.uses + 1)
  }
}

/// A server that demands a digest and checks it by RFC 7616, with a parser of its own.
final class DigestServer: Sendable {
  /// The digest parameters that the server demands.
  struct Rules: Sendable {
    var algorithm = "SHA-256"
    var protection: String? = "auth"
    var hashesUser = false
    /// The number of times that a nonce may be used.
    var uses = Int.max
    /// Whether each answer provides the next nonce.
    var givesNextNonce = false
  }

  static let user = "Jäsøn Doe"
  static let password = "pass: \"word\""
  private static let realm = "a realm"

  let rules: Rules
  private let issued = Atomic(0)
  private let used = Lock<[String: Set<String>]>([:])
  private let faults = Lock<[String]>([])
  private let listener = Lock<LoopbackServer?>(nil)

  init(_ rules: Rules) throws {
    self.rules = rules
    let server = try LoopbackServer.http { [weak self] in self?.answer($0) ?? LoopbackResponse(status: 500) }
    listener.withLock { $0 = server }
  }

  var server: LoopbackServer? { listener.withLock { $0 } }
  /// The reasons for which digests were refused, other than absent or stale digests.
  var complaints: [String] { faults.withLock { $0 } }

  func stop() { server?.stop() }

  private func answer(_ request: LoopbackRequest) -> LoopbackResponse {
    guard let field = request.head.values("Authorization").first else { return refusal(stale: false) }
    let sent = Self.parameters(field)
    if let complaint = complaint(about: sent, request) {
      faults.withLock { $0.append(complaint) }
      return refusal(stale: false)
    }
    let nonce = sent["nonce"] ?? ""
    let isFresh = used.withLock { used in
      guard used[nonce, default: []].count < rules.uses else { return false }
      return used[nonce, default: []].insert(sent["nc"] ?? "").inserted
    }
    guard isFresh || rules.protection == nil else { return refusal(stale: true) }
    var information = "rspauth=\"\(proof(sent, request, method: ""))\""
    if rules.givesNextNonce { information += ", nextnonce=\"\(nextNonce())\"" }
    return LoopbackResponse(headers: ["Authentication-Info": information], body: request.body)
  }

  private func nextNonce() -> String { "nonce,\(issued.wrappingAdd(1, ordering: .relaxed).newValue)=" }

  private func refusal(stale: Bool) -> LoopbackResponse {
    var challenge = "Digest realm=\"\(Self.realm)\", nonce=\"\(nextNonce())\", algorithm=\(rules.algorithm)"
    challenge += ", opaque=\"o\", charset=UTF-8"
    if let protection = rules.protection { challenge += ", qop=\"\(protection)\"" }
    if rules.hashesUser { challenge += ", userhash=true" }
    if stale { challenge += ", stale=true" }
    return LoopbackResponse(
      status: 401, headers: ["WWW-Authenticate": "Negotiate", "WWW-Authenticate": "\(challenge), Basic realm=\"x\""])
  }

  private func complaint(about sent: [String: String], _ request: LoopbackRequest) -> String? {
    if sent["realm"] != Self.realm || sent["opaque"] != "o" { return "realm or opaque are not echoed" }
    if sent["uri"] != request.target { return "uri is \(sent["uri"] ?? "") and not \(request.target)" }
    if sent["algorithm"] != rules.algorithm { return "algorithm is \(sent["algorithm"] ?? "missing")" }
    if sent["qop"] != rules.protection { return "qop is \(sent["qop"] ?? "missing")" }
    if rules.protection != nil, sent["nc"]?.utf8.count != 8 { return "nc is \(sent["nc"] ?? "missing")" }
    let user = rules.hashesUser ? hash("\(Self.user):\(Self.realm)") : Self.user
    if (sent["username*"] ?? sent["username"]) != user { return "the user is \(sent["username"] ?? "missing")" }
    return sent["response"] == proof(sent, request, method: request.method) ? nil : "the response is wrong"
  }

  private func proof(_ sent: [String: String], _ request: LoopbackRequest, method: String) -> String {
    var secret = hash("\(Self.user):\(Self.realm):\(Self.password)")
    let nonce = sent["nonce"] ?? ""
    let clientNonce = sent["cnonce"] ?? ""
    if rules.algorithm.hasSuffix("-sess") { secret = hash("\(secret):\(nonce):\(clientNonce)") }
    guard let protection = rules.protection else {
      return hash("\(secret):\(nonce):\(hash("\(method):\(request.target)"))")
    }
    var what = "\(method):\(request.target)"
    if protection == "auth-int" { what += ":" + hash(String(decoding: request.body, as: UTF8.self)) }
    return hash("\(secret):\(nonce):\(sent["nc"] ?? ""):\(clientNonce):\(protection):\(hash(what))")
  }

  private func hash(_ text: String) -> String {
    let algorithm: HashAlgorithm =
      rules.algorithm.hasPrefix("MD5") ? .md5 : rules.algorithm.hasPrefix("SHA-512") ? .sha512_256 : .sha256
    return (try? MessageDigest(of: Array(text.utf8), algorithm).hexadecimal) ?? ""
  }

  /// Parses the field into pairs at commas outside quotes, which suffices for what clients send.
  private static func parameters(_ field: String) -> [String: String] {
    var pairs: [String] = [""]
    var isQuoted = false
    var isEscaped = false
    for character in field.dropFirst("Digest ".count) {
      if character == "\"", !isEscaped { isQuoted.toggle() }
      isEscaped = character == "\\" && !isEscaped
      if character == ",", !isQuoted { pairs.append("") } else { pairs[pairs.count - 1].append(character) }
    }
    var result: [String: String] = [:]
    for pair in pairs {
      guard let equals = pair.firstIndex(of: "=") else { continue }
      let name = String(pair[..<equals].drop { $0 == " " })
      var value = String(pair[pair.index(after: equals)...])
      if name == "username*" {
        value = value.replacing("UTF-8''", with: "").removingPercentEncoding ?? ""
      } else if value.first == "\"" {
        value = String(value.dropFirst().dropLast()).replacing("\\\"", with: "\"").replacing("\\\\", with: "\\")
      }
      result[name] = value
    }
    return result
  }
}
