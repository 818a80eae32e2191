// SPDX-License-Identifier: Apache-2.0

import CurlSupport
import FoundationEssentials
import Lastro
import LastroCurl
import LastroTesting
import TestSupport
import Testing

/// Every bypass over every path to a server; ``BypassTests`` tries them over HTTP alone. The server's record decides.
@Suite("Trust: routes and bypasses", .timeLimit(.minutes(15)))
struct BypassTableTests {
  private let lab: TestAuthority

  init() throws { lab = try TestAuthority() }

  @Test("Each cell of the table is tested or has a reason", arguments: TrustPath.allCases)
  func cells(_ path: TrustPath) async throws {
    for bypass in Bypass.allCases {
      if let reason = bypass.isImpossible(over: path) {
        #expect(!reason.isEmpty)
      } else {
        // The links matter to the bypasses of HTTP only, which `BypassTests` tries.
        try await LinkKind.$current.withValue(path.links ?? .socket) { try await attempt(bypass, over: path) }
      }
    }
  }

  private func attempt(_ bypass: Bypass, over path: TrustPath) async throws {
    switch bypass {
    case .manInTheMiddle:
      for version in [TLSOptions.Version.v1_2, .v1_3] { try await manInTheMiddle(path, version) }
    case .requestWithoutJudge: try await ownOptions(path, nil)
    case .requestWithMildJudge: try await ownOptions(path, ScriptedJudge { _, _ in .success(.validated) })
    case .plaintext: try await plaintext(path)
    case .policySwappedBetween: try await policySwappedBetween(path)
    case .policySwappedInHandshake: try await policySwappedInHandshake(path)
    case .rulesWithoutEnd: try await rulesWithoutEnd(path)
    case .connectionFromBefore: try await connectionFromBefore(path)
    case .ticketFromBefore:
      for version in [TLSOptions.Version.v1_2, .v1_3] { try await ticketFromBefore(path, version) }
    case .certificateSwapped: try await certificateSwapped(path)
    case .redirect: try await BypassTests().redirect()
    case .silentResend: try await BypassTests().resend()
    case .streamOfAnotherRequest: try await BypassTests().swapInFlight()
    case .unfinishedHandshake:
      try await BypassTests().unfinishedConnection(isJudged: true)
    }
  }

  private func server(
    _ tls: LoopbackTLS? = nil, closes: Bool = false
  ) throws -> (LoopbackServer, LoopbackTLS) {
    let tls = try tls ?? LoopbackTLS(lab.identity("localhost"))
    let server = try LoopbackServer.http(tls: tls) { _ in
      let answer = LoopbackResponse.text("answer")
      return closes ? answer.adding("Connection", "close") : answer
    }
    return (server, tls)
  }

  private func pinned(_ tls: LoopbackTLS) throws -> ServerTrustEvaluator {
    try TestAuthority.evaluator(TestAuthority.policy("localhost", TestAuthority.pin(tls.identity)))
  }

  private func refusing() throws -> ServerTrustEvaluator {
    try TestAuthority.evaluator(TestAuthority.policy("localhost", TestAuthority.absentPin))
  }

  // MARK: The attempts

  private func manInTheMiddle(_ path: TrustPath, _ version: TLSOptions.Version) async throws {
    var tls = LoopbackTLS(try lab.identity("localhost"))
    tls.maximumVersion = version
    let (server, _) = try server(tls)
    #expect(try await PathClient(path, lab, judge: refusing()).send(to: server) == "trust/pin_mismatch")
    #expect(server.receivedBytes == 0 && server.requests.isEmpty)
    #expect(try await PathClient(path, lab, judge: pinned(tls)).send(to: server) == "pinned")
  }

  private func ownOptions(_ path: TrustPath, _ judge: (any ServerTrustJudge)?) async throws {
    let (server, _) = try server()
    let client = try PathClient(path, lab, judge: refusing())
    let options = PathClient.options(lab, judge)
    #expect(await client.send(to: server, options: options) == "trust/pin_mismatch")
    #expect(server.receivedBytes == 0)
  }

  private func plaintext(_ path: TrustPath) async throws {
    let server = try LoopbackServer.http { _ in .text("answer") }
    #expect(try await PathClient(path, lab, judge: refusing()).send(to: server) == "trust/plaintext_refused")
    #expect(server.acceptedConnections == 0)
  }

  private func policySwappedBetween(_ path: TrustPath) async throws {
    let (server, tls) = try server()
    let judge = try pinned(tls)
    let client = try PathClient(path, lab, judge: judge)
    #expect(await client.send(to: server) == "pinned")
    let received = server.receivedBytes
    judge.configuration = try TestAuthority.configuration(TestAuthority.policy("localhost", TestAuthority.absentPin))
    #expect(await client.send(to: server) == "trust/pin_mismatch")
    #expect(server.requests.count == 1 && server.receivedBytes == received)
  }

  private func policySwappedInHandshake(_ path: TrustPath) async throws {
    let (server, _) = try server()
    // The judge accepts, and its rules change before anything is sent.
    let judge = ScriptedJudge { trust, judge in
      guard judge.revision == 0 else { return .failure(TrustFailure(.refused("changed"), trust: trust)) }
      judge.changeRules()
      return .success(.validated)
    }
    #expect(try await PathClient(path, lab, judge: judge).send(to: server) == "trust/trust_refused")
    #expect(server.receivedBytes == 0)
  }

  private func rulesWithoutEnd(_ path: TrustPath) async throws {
    let (server, _) = try server()
    let judge = ScriptedJudge { _, judge in
      judge.changeRules()
      return .success(.validated)
    }
    #expect(try await PathClient(path, lab, judge: judge).send(to: server) == "trust/trust_refused")
    #expect(server.receivedBytes == 0)
  }

  private func connectionFromBefore(_ path: TrustPath) async throws {
    let (server, tls) = try server()
    let client = try PathClient(path, lab, judge: nil)
    #expect(await client.send(to: server) == "validated")
    #expect(
      try await client.send(to: server, options: PathClient.options(lab, refusing())) == "trust/pin_mismatch")
    #expect(server.requests.count == 1)
    #expect(try await client.send(to: server, options: PathClient.options(lab, pinned(tls))) == "pinned")
    #expect(server.requests.count == 2 && server.establishedConnections >= 2)
  }

  private func ticketFromBefore(_ path: TrustPath, _ version: TLSOptions.Version) async throws {
    var tls = LoopbackTLS(try lab.identity("localhost"))
    tls.maximumVersion = version
    let (server, _) = try server(tls, closes: true)
    let judge = try TestAuthority.evaluator(TestAuthority.policy("other.test", TestAuthority.absentPin))
    let client = try PathClient(path, lab, judge: judge)
    for _ in 0..<2 { #expect(await client.send(to: server) == "validated") }
    judge.configuration = try TestAuthority.configuration(TestAuthority.policy("localhost", TestAuthority.absentPin))
    #expect(await client.send(to: server) == "trust/pin_mismatch")
    #expect(server.requests.count == 2 && server.resumedHandshakes == 0)
  }

  private func certificateSwapped(_ path: TrustPath) async throws {
    let (server, tls) = try server(closes: true)
    let client = try PathClient(path, lab, judge: pinned(tls))
    #expect(await client.send(to: server) == "pinned")
    // The key is the same, so the pin still matches.
    let renewed = try lab.authority.issue(hosts: ["localhost"], privateKeyPEM: tls.identity.privateKeyPEM)
    try server.replaceTLS(LoopbackTLS(renewed))
    #expect(await client.send(to: server) == "pinned")
    try server.replaceTLS(LoopbackTLS(lab.identity("localhost")))
    #expect(await client.send(to: server) == "trust/pin_mismatch")
    #expect(server.requests.count == 2)
  }
}

/// The path of a request's bytes over TLS.
enum TrustPath: String, CaseIterable, Sendable {
  /// A fetch over sockets.
  case fetch
  /// A fetch over streams with OpenSSL's TLS over another stream.
  case fetchOverStream
  /// A stream that the engine dials.
  case stream
  /// OpenSSL's TLS over another stream.
  case tlsOverStream

  /// The links of a fetch; `nil` if the bytes are written to a stream.
  var links: LinkKind? {
    switch self {
    case .fetch: .socket
    case .fetchOverStream: .tlsStream
    case .stream, .tlsOverStream: nil
    }
  }
}

/// A way in which a request could evade a pin.
enum Bypass: String, CaseIterable, Sendable {
  case manInTheMiddle, requestWithoutJudge, requestWithMildJudge, plaintext
  case policySwappedBetween, policySwappedInHandshake
  case rulesWithoutEnd, connectionFromBefore, ticketFromBefore, certificateSwapped, redirect, silentResend
  case streamOfAnotherRequest, unfinishedHandshake

  /// Returns why the bypass cannot be tried over a path; `nil` if it can be.
  func isImpossible(over path: TrustPath) -> String? {
    guard path.links == nil else { return nil }
    return switch self {
    case .redirect: "only HTTP has redirects; the next connection is dialed separately"
    case .silentResend: "bytes of a stream are written once, on the connection that was dialed"
    case .streamOfAnotherRequest: "each dial has its own connection: nothing is multiplexed"
    case .unfinishedHandshake: "a stream is returned after its handshake, and not used before"
    default: nil
    }
  }
}

/// A client that reaches a server over one path. The authority certifies the server, and a judge decides on every
/// request.
struct PathClient {
  let path: TrustPath
  let lab: TestAuthority
  /// The stack that fetches; `nil` if the client dials.
  private let stack: TransportNetworkStack?
  private let dialer: any Dialer

  init(
    _ path: TrustPath, _ lab: TestAuthority, judge: (any ServerTrustJudge)? = nil, peer: TLSOptions.Peer = .hostName
  ) throws {
    self.path = path
    self.lab = lab
    stack = try path.links?.stack { $0.connection = Self.options(lab, judge, peer) }
    var configuration = CurlConfiguration()
    configuration.connection = Self.options(lab, judge, peer)
    if path == .tlsOverStream {
      var plain = CurlConfiguration()
      plain.connection.proxy = .none
      dialer = TLSDialer(over: try CurlTransport(plain), connection: configuration.connection)
    } else {
      dialer = try CurlTransport(configuration)
    }
  }

  static func options(
    _ lab: TestAuthority, _ judge: (any ServerTrustJudge)? = nil, _ peer: TLSOptions.Peer = .hostName
  ) -> ConnectionOptions {
    var options = ConnectionOptions()
    options.proxy = .none
    options.tls.roots = .pem(Array(lab.authority.rootPEM.utf8))
    options.tls.trustJudge = judge
    options.tls.peer = peer
    return options
  }

  /// Sends a secret and reads part of the answer. Returns the trust under which the server was accepted, or stage and
  /// code of the refusal.
  func send(to server: LoopbackServer, options: ConnectionOptions? = nil) async -> String {
    do {
      let verdict =
        if let stack { try await fetch(stack, server, options) } else { try await dial(server, options) }
      return verdict?.rawValue ?? "nothing"
    } catch let error as RawFailure {
      return error.words
    } catch let error as TransportError {
      return "\(error.stage.rawValue)/\(error.code)"
    } catch {
      return "\(error)"
    }
  }

  private func fetch(
    _ stack: TransportNetworkStack, _ server: LoopbackServer, _ options: ConnectionOptions?
  ) async throws -> TrustVerdict? {
    var own = RequestOptions()
    own.connection = options
    let scheme = server.isTLS ? "https" : "http"
    let answer = try await stack.send(
      .get, "\(scheme)://localhost:\(server.port)/", headers: ["Authorization": "Bearer secret"], options: own)
    return answer.response.facts.trust
  }

  private func dial(_ server: LoopbackServer, _ options: ConnectionOptions?) async throws -> TrustVerdict? {
    let stream = try await dialer.dial(
      DialRequest(
        host: "localhost", port: server.port, tls: server.isTLS ? .init() : nil, connection: options,
        connectTimeout: .seconds(60)))
    defer { stream.close() }
    try await stream.write(Data("GET / HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer secret\r\n\r\n".utf8))
    _ = try await stream.read(upTo: 1, within: .seconds(60))
    return stream.facts.trust
  }
}
