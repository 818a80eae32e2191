// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro
import LastroCurl
import LastroTesting
import TestSupport
import Testing

/// Heads that begin with a folded line, in every position where an engine may receive one after good answers. libcurl
/// 7.88 appends such a line to the last field of the handle's previous transfer, which is freed memory. Each case runs
/// in a process of its own.
@Suite("Faults: a folded line before the first field", .timeLimit(.minutes(15)))
struct FoldedLineTests {
  @Test(
    "A fold before the first field fails its own request with a typed error, and no other", .ownThread,
    arguments: FoldedLine.allCases)
  func folded(_ place: FoldedLine) async {
    await #expect(processExitsWith: .success) { [place = place as FoldedLine] in
      // Corrupted memory may have an effect only later, so each case runs several times.
      for _ in 0..<8 { try await place.play() }
    }
  }
}

/// The position of the folded line.
enum FoldedLine: String, CaseIterable, Codable, Sendable {
  case second, third, afterInterim, afterFieldsOfInterim, inTrailers, streamed
  case afterRedirect, afterBearerChallenge, afterDigestChallenge
  case afterCancellation, throughProxy, inConnectAnswer, overHTTP2

  private static let head = "HTTP/1.1 200 OK\r\n x: folded\r\nContent-Length: 2\r\n\r\nok"
  private static let fine = "HTTP/1.1 200 OK\r\nX-One: two\r\nContent-Length: 4\r\n\r\nfine"

  func play() async throws {
    switch self {
    case .second: try await play(good: 1)
    case .third: try await play(good: 2)
    case .afterInterim: try await play(good: 1, "HTTP/1.1 100 Continue\r\n\r\n" + Self.head)
    case .afterFieldsOfInterim: try await play(good: 1, "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + Self.head)
    case .inTrailers:
      try await play(
        good: 1, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n x: folded\r\n\r\n")
    case .streamed: try await play(good: 1) { $0.delivery = .streamed(maximumBytes: nil) }
    case .afterRedirect: try await follow()
    case .afterBearerChallenge, .afterDigestChallenge: try await authenticate()
    case .afterCancellation: try await cancel()
    case .throughProxy: try await useProxy()
    case .inConnectAnswer: try await connect()
    case .overHTTP2: try await playHTTP2()
    }
  }

  /// Sends requests for some good answers, the malicious one, and another good one, on one connection if possible.
  private func play(
    good: Int, _ evil: String = head,
    adapting adapt: (inout TransferRequest) -> Void = { _ in }
  ) async throws {
    let server = try Self.server(evil)
    let engine = try LinkKind.current.engine()
    for _ in 0..<good { #expect(await engine.outcome(server, adapting: adapt) == .answered(200, "fine")) }
    let outcome = await engine.outcome(server, "/folded", adapting: adapt)
    #expect(outcome == .failed("response/malformed_response"))
    #expect(await engine.outcome(server, adapting: adapt) == .answered(200, "fine"))
  }

  /// Returns a server that sends the malicious answer to `/folded`. `/moved` redirects there, and `/secret` sends the
  /// same answer after authentication.
  private static func server(_ evil: String = head) throws -> LoopbackServer {
    try LoopbackServer { connection in
      while let head = try connection.readHead() {
        switch head.path {
        case let path where path.hasSuffix("/folded"): try connection.write(evil)
        case "/moved": try connection.write("HTTP/1.1 302 X\r\nLocation: /folded\r\nContent-Length: 2\r\n\r\nno")
        case "/secret" where head["Authorization"].map { $0.contains("old") } ?? true:
          try connection.write(
            "HTTP/1.1 401 X\r\nWWW-Authenticate: Bearer\r\n"
              + "WWW-Authenticate: Digest realm=\"r\", nonce=\"n\", qop=\"auth\", algorithm=SHA-256\r\n"
              + "Content-Length: 2\r\n\r\nno")
        case "/secret": try connection.write(evil)
        default: try connection.write(fine)
        }
      }
    }
  }

  private func authenticate() async throws {
    let server = try Self.server()
    let origin = try Origin(server.baseURL)
    var configuration = StackConfiguration.patient
    configuration.interceptors = [
      self == .afterDigestChallenge
        ? try DigestAuthenticator(user: "user", password: Secret("password"), origins: [origin])
        : try BearerAuthenticator(
          source: CustomAccessTokenSource { _ in try AccessToken("new") }, origins: [origin], token: AccessToken("old"))
    ]
    let stack = try CurlNetworkStack.direct(configuration: configuration)
    let error = try await failure { try await stack.send(.get, server.baseURL + "/secret") }
    #expect(error.words == "response/malformed_response")
    #expect(server.requests.map(\.path) == ["/secret", "/secret"])
    #expect(try await stack.send(.get, server.baseURL + "/").text == "fine")
  }

  private func follow() async throws {
    let server = try Self.server()
    let stack = try CurlNetworkStack.direct()
    let error = try await failure { try await stack.send(.get, server.baseURL + "/moved") }
    #expect(error.words == "response/malformed_response")
    #expect(server.requests.map(\.path) == ["/moved", "/folded"])
    #expect(try await stack.send(.get, server.baseURL + "/").text == "fine")
  }

  private func cancel() async throws {
    let server = try LoopbackServer { connection in
      while let head = try connection.readHead() {
        switch head.path {
        case "/stalls":
          try connection.write("HTTP/1.1 200 OK\r\nX-One: two\r\nContent-Length: 9\r\n\r\nhalf")
          connection.stall()
        case "/folded": try connection.write(Self.head)
        default: try connection.write(Self.fine)
        }
      }
    }
    let engine = try LinkKind.current.engine()
    let task = Task { await engine.outcome(server, "/stalls") }
    try await server.waitForRequests(count: 1)
    task.cancel()
    #expect(await task.value == .failed("cancelled/cancelled"))
    #expect(await eventually { engine.activeTransfers == 0 })
    #expect(await engine.outcome(server, "/folded") == .failed("response/malformed_response"))
    #expect(await engine.outcome(server) == .answered(200, "fine"))
  }

  /// Uses a proxy for plain `http`. The proxy sends the answers itself.
  private func useProxy() async throws {
    let proxy = try Self.server()
    let stack = try CurlNetworkStack.direct { $0.connection.proxy = .url(proxy.baseURL) }
    for _ in 0..<2 {
      #expect(try await stack.send(.get, "http://origin.test/").text == "fine")
      let error = try await failure { try await stack.send(.get, "http://origin.test/folded") }
      #expect(error.words == "response/malformed_response")
    }
    #expect(try await stack.send(.get, "http://origin.test/").text == "fine")
  }

  private func connect() async throws {
    let authority = try CertificateAuthority()
    let server = try LoopbackServer.http(tls: LoopbackTLS(authority.issue(hosts: ["localhost"]))) { _ in .text("fine") }
    let good = try LoopbackServer.tunnel()
    let evil = try LoopbackServer { connection in
      _ = try connection.readHead()
      try connection.write("HTTP/1.1 403 No\r\n x: folded\r\nContent-Length: 2\r\n\r\nno")
    }
    let engine = try LinkKind.current.engine()
    for _ in 0..<2 {
      for (proxy, expected) in [(good, Outcome.answered(200, "fine")), (evil, .failed("proxy/proxy_refused"))] {
        let outcome = await engine.outcome(server) {
          $0.trust(authority)
          $0.connection?.proxy = .url(proxy.baseURL)
        }
        #expect(outcome == expected)
      }
    }
  }

  /// Runs the case over HTTP/2, where the bytes of a field's name are checked before libcurl stores the field.
  private func playHTTP2() async throws {
    let lab = try HTTP2Servers()
    let server = try lab.server { request in
      var response = LoopbackResponse.text("fine")
      if request.path == "/folded" {
        let head = LoopbackHTTP2Frame.head(200, [" x": "folded"], stream: request.stream ?? 1)
        response.fault = .http2(.send([head]), at: .beforeHeaders)
      }
      return response
    }
    for _ in 0..<2 {
      #expect(await lab.outcome(server) == .answered(200, "fine"))
      guard case .failed = await lab.outcome(server, "/folded") else {
        Issue.record("a field with a space before its name was accepted")
        return
      }
    }
    #expect(await lab.outcome(server) == .answered(200, "fine"))
  }
}
