// SPDX-License-Identifier: Apache-2.0

import CurlSupport
import HTTPTypes
import Lastro
import LastroCurl
import LastroSupport
import LastroTesting
import TestSupport
import Testing

/// Each way in which a request could evade a pin, tried for real. The bytes that reach the server decide.
@Suite("Trust: bypasses", .overEachLink, .timeLimit(.minutes(15)))
struct BypassTests {
  private let lab: TestAuthority

  init() throws { lab = try TestAuthority() }

  /// Returns an engine over the test's links that trusts the authority and asks a judge about its servers.
  private func engine(
    _ judge: (any ServerTrustJudge)?, names: [String: Int] = [:], _ edit: (inout CurlConfiguration) -> Void = { _ in }
  ) throws -> any LinkedEngine {
    try LinkKind.current.engine {
      $0.connection = lab.options()
      $0.connection.tls.trustJudge = judge
      $0.connection.resolutions = names.map { .init(host: $0.key, port: $0.value, addresses: ["127.0.0.1"]) }
      edit(&$0)
    }
  }

  private func stack(
    _ judge: (any ServerTrustJudge)?, names: [String: Int] = [:], _ edit: (inout CurlConfiguration) -> Void = { _ in }
  ) throws -> TransportNetworkStack {
    TransportNetworkStack(transport: try engine(judge, names: names, edit), configuration: .patient.replayed)
  }

  private func tls(_ protocols: [String] = [], _ version: TLSOptions.Version = .v1_3) throws -> LoopbackTLS {
    var tls = LoopbackTLS(try lab.identity("localhost"))
    tls.applicationProtocols = protocols
    tls.maximumVersion = version
    return tls
  }

  @Test(
    "A man in the middle with a valid chain of another key is sent nothing",
    arguments: [TLSOptions.Version.v1_2, .v1_3])
  func manInTheMiddle(_ version: TLSOptions.Version) async throws {
    let server = try LoopbackServer.http(tls: tls([], version)) { _ in .text("stolen") }
    let evaluator = try TestAuthority.evaluator(TestAuthority.policy("localhost", TestAuthority.absentPin))
    let stack = try stack(evaluator)
    let error = try await failure {
      try await stack.send(.post, server.baseURL, headers: ["Authorization": "Bearer secret"], body: .raw("secret"))
    }
    #expect(error.words == "trust/pin_mismatch")
    #expect(error.attempts.count == 1)
    #expect(server.receivedBytes == 0 && server.requests.isEmpty)
    let found = try #require(error.trustFailure)
    #expect(found.reason == .noPinMatches && found.trust.host.text == "localhost" && found.trust.port == server.port)
    #expect(found.trust.chain.count == 2 && found.policy?.pins.count == 2)
  }

  @Test("A pooled connection that an unpinned request opened does not serve a pinned one")
  func pooledConnection() async throws {
    let tls = try tls()
    let server = try LoopbackServer.http(tls: tls) { _ in .text("answer") }
    let stack = try stack(nil)
    #expect(try await stack.send(.get, server.baseURL).text == "answer")
    let refusing = try TestAuthority.evaluator(TestAuthority.policy("localhost", TestAuthority.absentPin))
    var options = RequestOptions.connection {
      $0.tls.roots = .pem(Array(lab.authority.rootPEM.utf8))
      $0.tls.trustJudge = refusing
    }
    let error = try await failure { try await stack.send(.get, server.baseURL, options: options) }
    #expect(error.words == "trust/pin_mismatch")
    #expect(server.requests.count == 1)
    options.connection?.tls.trustJudge = try TestAuthority.evaluator(
      TestAuthority.policy("localhost", TestAuthority.pin(tls.identity)))
    let answer = try await stack.send(.get, server.baseURL, options: options)
    #expect(answer.response.facts.trust == .pinned && !answer.response.facts.connectionReused)
    #expect(server.requests.count == 2)
  }

  @Test("A request's own options keep the stack's judge")
  func optionsOfARequest() async throws {
    let server = try LoopbackServer.http(tls: tls()) { _ in .text("answer") }
    let stack = try stack(TestAuthority.evaluator(TestAuthority.policy("localhost", TestAuthority.absentPin)))
    let accepting = ScriptedJudge { _, _ in .success(.validated) }
    for judge in [nil, accepting] {
      let options = RequestOptions.connection {
        $0.tls.roots = .pem(Array(lab.authority.rootPEM.utf8))
        $0.tls.trustJudge = judge
      }
      let error = try await failure { try await stack.send(.get, server.baseURL, options: options) }
      #expect(error.words == "trust/pin_mismatch")
    }
    #expect(server.receivedBytes == 0)
  }

  @Test(
    "A policy that is replaced between two requests applies to the second, on the same connection",
    arguments: [false, true])
  func swappedPolicy(isHTTP2: Bool) async throws {
    let tls = try tls(isHTTP2 ? ["h2"] : [])
    let respond: @Sendable (LoopbackRequest) throws -> LoopbackResponse = { _ in .text("answer") }
    let server =
      isHTTP2 ? try LoopbackServer.http2(tls: tls, respond: respond) : try .http(tls: tls, respond: respond)
    let pin = try TestAuthority.pin(tls.identity)
    let evaluator = try TestAuthority.evaluator(TestAuthority.policy("localhost", pin))
    let stack = try stack(evaluator)
    #expect(try await stack.send(.get, server.baseURL).response.facts.trust == .pinned)
    let again = try await stack.send(.get, server.baseURL)
    #expect(again.response.facts.connectionReused && again.response.facts.trust == .pinned)
    #expect(again.response.facts.httpVersion == (isHTTP2 ? "2" : "1.1"))

    evaluator.configuration = try TestAuthority.configuration(
      TestAuthority.policy("localhost", TestAuthority.absentPin))
    #expect(try await failure { try await stack.send(.get, server.baseURL) }.words == "trust/pin_mismatch")
    #expect(server.requests.count == 2)

    evaluator.configuration = try TestAuthority.configuration(
      TestAuthority.policy("localhost", pin, TestAuthority.absentPin))
    let last = try await stack.send(.get, server.baseURL)
    #expect(last.response.facts.trust == .pinned && !last.response.facts.connectionReused)
    #expect(server.requests.count == 3 && server.establishedConnections == 2)
    #expect(await eventually { server.openConnections == 1 })
  }

  @Test(
    "Replacing a policy lets a running request finish and admits no other to its connection")
  func swapInFlight() async throws {
    let gate = try LoopbackGate()
    let tls = try tls(["h2"])
    let server = try LoopbackServer.http2Script(tls: tls) { connection in
      while let request = try connection.readRequest() {
        if request.path == "/slow" { _ = connection.connection.wait(for: gate) }
        try connection.respond(to: request, with: .text("answer"))
      }
    }
    let evaluator = try TestAuthority.evaluator(TestAuthority.policy("localhost", TestAuthority.pin(tls.identity)))
    let stack = try stack(evaluator)
    async let slow = stack.send(.get, server.baseURL + "/slow")
    try await server.waitForRequests(count: 1)
    evaluator.configuration = try TestAuthority.configuration(
      TestAuthority.policy("localhost", TestAuthority.absentPin))
    #expect(try await failure { try await stack.send(.get, server.baseURL) }.words == "trust/pin_mismatch")
    gate.open()
    #expect(try await slow.text == "answer")
    #expect(server.requests.map(\.path) == ["/slow"])
    #expect(await eventually { server.openConnections == 0 })
  }

  @Test("A policy that is replaced between handshake and request is enforced")
  func swapBeforeSending() async throws {
    let server = try LoopbackServer.http(tls: tls()) { _ in .text("answer") }
    // The judge accepts in the handshake, and its rules change before the request is sent.
    let judge = ScriptedJudge { trust, judge in
      guard judge.revision == 0 else { return .failure(TrustFailure(.refused("changed"), trust: trust)) }
      judge.changeRules()
      return .success(.validated)
    }
    let stack = try stack(judge)
    #expect(try await failure { try await stack.send(.get, server.baseURL) }.words == "trust/trust_refused")
    #expect(judge.asked.count == 2)
    #expect(server.receivedBytes == 0)
  }

  @Test("Rules that change continuously fail the request")
  func unsteadyRules() async throws {
    let server = try LoopbackServer.http(tls: tls()) { _ in .text("answer") }
    let judge = ScriptedJudge { _, judge in
      judge.changeRules()
      return .success(.validated)
    }
    let stack = try stack(judge)
    #expect(try await failure { try await stack.send(.get, server.baseURL) }.words == "trust/trust_refused")
    #expect(server.receivedBytes == 0)
  }

  @Test(
    "Streams beyond a connection's limit wait for one that is verified", arguments: [false, true])
  func unfinishedConnection(isJudged: Bool) async throws {
    let tls = try tls(["h2"])
    var settings = LoopbackHTTP2Settings()
    settings.maximumConcurrentStreams = 1
    let server = try LoopbackServer.http2(tls: tls, settings: settings) { .text($0.path) }
    let proxy = try LoopbackServer.tunnel()
    let evaluator = try TestAuthority.evaluator(TestAuthority.policy("localhost", TestAuthority.pin(tls.identity)))
    let stack = try stack(isJudged ? evaluator : nil) {
      $0.connection.proxy = .url("http://127.0.0.1:\(proxy.port)")
    }
    _ = try await stack.send(.get, server.baseURL)
    try await withThrowingTaskGroup(of: TrustVerdict?.self) { group in
      for number in 0..<40 {
        group.addTask { try await stack.send(.get, server.baseURL + "/\(number)").response.facts.trust }
      }
      for try await verdict in group { #expect(verdict == (isJudged ? .pinned : .validated)) }
    }
  }

  @Test("A graceful shutdown waits for requests whose rules changed while they waited")
  func shutdownAfterSwap() async throws {
    let gate = try LoopbackGate()
    let tls = try tls()
    let server = try LoopbackServer(tls: tls) { connection in
      try connection.serveHTTP { request in
        if request.path == "/held" { _ = connection.wait(for: gate) }
        return .text(request.path)
      }
    }
    let evaluator = try TestAuthority.evaluator(TestAuthority.policy("localhost", TestAuthority.pin(tls.identity)))
    let engine = try engine(evaluator) { $0.connectionsPerHost = 1 }
    let stack = TransportNetworkStack(transport: engine, configuration: .patient.replayed)
    async let held = stack.send(.get, server.baseURL + "/held")
    try await server.waitForRequests(count: 1)
    async let waiting = stack.send(.get, server.baseURL + "/waiting")
    #expect(await eventually { engine.activeTransfers == 2 })
    evaluator.configuration = try TestAuthority.configuration(
      TestAuthority.policy("localhost", TestAuthority.pin(tls.identity), TestAuthority.absentPin))
    async let ended: Void = engine.shutDown(cancelling: false)
    // Once the stack refuses new requests, it is shutting down.
    while true {
      if (try await failure { try await stack.send(.get, "http://127.0.0.1:1") }).code == .shutDown { break }
    }
    gate.open()
    #expect(try await held.text == "/held")
    #expect(try await waiting.text == "/waiting")
    await ended
  }

  @Test("A session ticket from before the policy is not resumed", arguments: [TLSOptions.Version.v1_2, .v1_3])
  func ticketFromBefore(_ version: TLSOptions.Version) async throws {
    let server = try LoopbackServer.http(tls: tls([], version)) { _ in
      LoopbackResponse.text("answer").adding("Connection", "close")
    }
    let evaluator = try TestAuthority.evaluator(TestAuthority.policy("other.test", TestAuthority.absentPin))
    let stack = try stack(evaluator)
    for _ in 0..<2 { _ = try await stack.send(.get, server.baseURL) }
    evaluator.configuration = try TestAuthority.configuration(
      TestAuthority.policy("localhost", TestAuthority.absentPin))
    #expect(try await failure { try await stack.send(.get, server.baseURL) }.words == "trust/pin_mismatch")
    #expect(server.requests.count == 2 && server.resumedHandshakes == 0)
  }

  @Test("Sessions are resumed without a judge, and never with one", arguments: [TLSOptions.Version.v1_2, .v1_3])
  func resumption(_ version: TLSOptions.Version) async throws {
    let tls = try tls([], version)
    let evaluator = try TestAuthority.evaluator(TestAuthority.policy("localhost", TestAuthority.pin(tls.identity)))
    for judge in [nil, evaluator] {
      let server = try LoopbackServer.http(tls: tls) { _ in
        LoopbackResponse.text("answer").adding("Connection", "close")
      }
      let stack = try stack(judge)
      for _ in 0..<4 { #expect(try await stack.send(.get, server.baseURL).text == "answer") }
      let resumes = judge == nil && LinkKind.current.mayResumeSessions
      #expect(server.fullHandshakes == (resumes ? 1 : 4))
      #expect(server.resumedHandshakes == (resumes ? 3 : 0))
    }
  }

  @Test("After a server replaces its certificate, old connections continue and new ones are judged again")
  func swappedCertificate() async throws {
    let tls = try tls()
    let server = try LoopbackServer.http(tls: tls) { request in
      let response = LoopbackResponse.text("answer")
      return request.path == "/close" ? response.adding("Connection", "close") : response
    }
    let renewed = try lab.authority.issue(hosts: ["localhost"], privateKeyPEM: tls.identity.privateKeyPEM)
    let evaluator = try TestAuthority.evaluator(TestAuthority.policy("localhost", TestAuthority.pin(tls.identity)))
    let stack = try stack(evaluator)
    _ = try await stack.send(.get, server.baseURL)
    try server.replaceTLS(LoopbackTLS(renewed))
    _ = try await stack.send(.get, server.baseURL + "/close")
    // The certificate is renewed with the same key, so the pin still matches.
    #expect(try await stack.send(.get, server.baseURL + "/close").response.facts.trust == .pinned)
    try server.replaceTLS(LoopbackTLS(lab.identity("localhost")))
    #expect(try await failure { try await stack.send(.get, server.baseURL) }.words == "trust/pin_mismatch")
    #expect(server.requests.count == 3)
  }

  @Test("A silent resend after a dead pooled connection is judged too")
  func resend() async throws {
    let tls = try tls()
    let counter = Lock(0)
    let server = try LoopbackServer.http(tls: tls) { request in
      let number = counter.withLock { count in
        count += 1
        return count
      }
      return number == 2 ? .fault(.close) : .text("answer")
    }
    let evaluator = try TestAuthority.evaluator(TestAuthority.policy("localhost", TestAuthority.pin(tls.identity)))
    let stack = try stack(evaluator)
    _ = try await stack.send(.get, server.baseURL)
    // The retry reaches the server that has taken over the address.
    try server.replaceTLS(LoopbackTLS(lab.identity("localhost")))
    #expect(try await failure { try await stack.send(.get, server.baseURL) }.words == "trust/pin_mismatch")
    #expect(server.requests.count == 2)
  }

  @Test("A redirect to a pinned host is judged, and nothing is sent there")
  func redirect() async throws {
    let target = try LoopbackServer.http(tls: LoopbackTLS(lab.identity("pinned.test"))) { _ in .text("stolen") }
    let location = target.url("pinned.test", "/next")
    let server = try LoopbackServer.http(tls: tls()) { _ in
      LoopbackResponse(status: 307, headers: ["Location": location])
    }
    let stack = try stack(
      TestAuthority.evaluator(TestAuthority.policy("pinned.test", TestAuthority.absentPin)),
      names: ["pinned.test": target.port]
    )
    #expect(try await failure { try await stack.send(.get, server.baseURL) }.words == "trust/pin_mismatch")
    #expect(server.requests.count == 1 && target.receivedBytes == 0)
  }

  @Test("A thousand concurrent requests under mixed policies are each judged correctly", arguments: [false, true])
  func thousandRequests(isHTTP2: Bool) async throws {
    let names = (0..<8).map { "host\($0).test" }
    let tls = try tls(isHTTP2 ? ["h2"] : [])
    var options = tls
    let other = try lab.identity("unused.test")
    for (index, name) in names.enumerated() {
      options.identitiesByName[name] = try lab.authority.issue(
        hosts: [name], privateKeyPEM: index % 2 == 0 ? tls.identity.privateKeyPEM : other.privateKeyPEM)
    }
    let respond: @Sendable (LoopbackRequest) throws -> LoopbackResponse = { .text($0.path) }
    let server =
      isHTTP2 ? try LoopbackServer.http2(tls: options, respond: respond) : try .http(tls: options, respond: respond)
    let pin = try TestAuthority.pin(tls.identity)
    let policies = try names.prefix(6).map { try TestAuthority.policy($0, pin) }
    let evaluator = ServerTrustEvaluator(
      configuration: try .init(pinningPolicies: policies, allowNotPinnedDomains: true))
    let stack = try stack(evaluator, names: Dictionary(uniqueKeysWithValues: names.map { ($0, server.port) })) {
      $0.loops = 2
      $0.connectionsPerHost = 8
    }
    let outcomes = await withTaskGroup(of: (Int, String).self) { group in
      for number in 0..<1_000 {
        let index = number % names.count
        let url = server.url(names[index], "/\(index)/\(number)")
        var patient = RequestOptions()
        // For a refused host, each request takes a handshake of its own.
        patient.timeouts = try? Timeouts(connect: nil, attempt: nil, idle: nil, total: nil)
        let options = patient
        group.addTask {
          do {
            return (
              index, try await stack.send(.get, url, options: options).response.facts.trust?.rawValue ?? "nothing"
            )
          } catch {
            return (index, (error as? RawFailure)?.words ?? "\(error)")
          }
        }
      }
      return await group.reduce(into: [Int: Set<String>]()) { $0[$1.0, default: []].insert($1.1) }
    }
    for index in 0..<8 {
      #expect(outcomes[index] == [index >= 6 ? "validated" : index % 2 == 0 ? "pinned" : "trust/pin_mismatch"])
    }
    let seen = Set(server.requests.map { $0.path.split(separator: "/").first ?? "" })
    #expect(seen == ["0", "2", "4", "6", "7"])
    #expect(server.requests.count == 625)
  }
}
