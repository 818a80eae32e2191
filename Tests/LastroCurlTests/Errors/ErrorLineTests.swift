// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import LastroCurl
import LastroSupport
import LastroTesting
import TestSupport
import Testing

/// The mistakes that everybody makes, each made for real: what the one line that is logged has of each.
@Suite("Error lines", .timeLimit(.minutes(5)))
struct ErrorLineTests {
  enum Mistake: String, CaseIterable, CustomTestStringConvertible {
    case unknownHost, refused, expired, unknownAuthority, otherHost, tlsToPlainPort, plainToTLSPort, handshakeStalls
    case idleInHead, idleInBody, attemptTimeout, totalTimeout
    case wrongPin, noPolicy, plainToPinned
    case otherShape, page, apiError, missingCredentials, serverPage, notModified, tooLarge, cut
    case proxyDown, proxyRefuses, rootsMissing, clientRefused, redirectLoop

    var testDescription: String { rawValue }

    /// Stage and code; and what stands in the line: what the limit was, what the API said, what to do.
    var expected: (code: String, parts: [String]) {
      switch self {
      case .unknownHost: ("resolve/host_not_found", ["nowhere.invalid", "check the name"])
      case .refused: ("connect/connect_failed", ["Connection refused", "check host and port"])
      case .expired: ("tls/certificate_expired", ["has expired", "this machine's clock"])
      case .unknownAuthority: ("tls/untrusted_certificate", ["leads to no trusted root", "TLSOptions.roots"])
      case .otherHost: ("tls/host_mismatch", ["for other names", "check the host in the URL"])
      case .tlsToPlainPort: ("tls/handshake_failed", ["may speak no TLS on this port"])
      case .plainToTLSPort: ("response/connection_lost", ["write https"])
      case .handshakeStalls: ("timeout/connect_timeout", ["100 ms", "raise the connect timeout"])
      case .idleInHead: ("timeout/idle_timeout", ["100 ms", "waiting for the response", "raise Timeouts.idle"])
      case .idleInBody: ("timeout/idle_timeout", ["100 ms", "receiving the body", "raise Timeouts.idle"])
      case .attemptTimeout: ("timeout/attempt_timeout", ["100 ms", "raise Timeouts.attempt"])
      case .totalTimeout: ("timeout/total_timeout", ["100 ms", "raise Timeouts.total"])
      case .wrongPin: ("trust/pin_mismatch", ["the pinning policy for localhost", "add the new one"])
      case .noPolicy: ("trust/host_not_pinned", ["add a policy for it"])
      case .plainToPinned: ("trust/plaintext_refused", ["use https"])
      case .otherShape: ("decode/undecodable", ["at name: ", "String was expected", "compare the model"])
      case .page:
        (
          "decode/undecodable",
          ["it is text/html, and begins with <!DOCTYPE html>", "what may answer in the API's place"]
        )
      case .apiError: ("http/unexpected_status", ["404 Not Found", "the API says: ", "there is no item 999"])
      case .missingCredentials: ("http/unexpected_status", ["401 Unauthorized", "look at the request's authenticator"])
      case .serverPage: ("http/unexpected_status", ["500", "the body is text/html, and begins with <h1>"])
      case .notModified: ("http/unexpected_status", ["304 Not Modified", "HTTPResource.ifModified(since:)"])
      case .tooLarge: ("limit/body_too_large", ["23 bytes", "at most 9", "raise maximumBodyBytes"])
      case .cut: ("response/truncated_body", ["fetch again if that is safe"])
      case .proxyDown: ("proxy/proxy_connect_failed", ["the proxy 127.0.0.1:", "Connection refused", "that it runs"])
      case .proxyRefuses: ("proxy/proxy_refused", ["the proxy 127.0.0.1:", "with 403", "the proxy's rules"])
      case .rootsMissing: ("tls/invalid_tls_configuration", ["/nowhere/ca.pem", "give readable PEM"])
      case .clientRefused:
        ("http/token_refused", ["GET https://", "invalid_client", "check the client's id and secret"])
      case .redirectLoop: ("redirect/too_many_redirects", ["the limit of 2", "raise RedirectPolicy's limit"])
      }
    }

    /// Whether the place is neither a host of the URL nor a limit: a file.
    var hasPlace: Bool { self != .rootsMissing }
  }

  @Test("have where, which limit, what the API said and what to do", arguments: Mistake.allCases)
  func line(_ mistake: Mistake) async throws {
    let lab = Lab()
    let line = try await lab.failure(of: mistake)
    let (code, parts) = mistake.expected
    #expect(line.hasPrefix(code + ": "), "\(line)")
    for part in parts { #expect(line.contains(part), "\(part)? \(line)") }
    #expect(!line.contains("\n"), "\(line)")
    if mistake.hasPlace {
      #expect(line.contains(#/(?:[a-z0-9.]+:[0-9]{2,5}|https?://[a-z0-9.]+(?::[0-9]+)?/)/#), "where? \(line)")
    }
  }

  /// A trusted authority, and servers that fail.
  private struct Lab {
    let authority = try? CertificateAuthority()

    func failure(of mistake: Mistake) async throws -> String {
      switch mistake {
      case .unknownHost, .refused, .proxyDown, .proxyRefuses, .rootsMissing: try await unreached(mistake)
      case .expired, .unknownAuthority, .otherHost, .tlsToPlainPort, .plainToTLSPort, .handshakeStalls:
        try await unsecured(mistake)
      case .wrongPin, .noPolicy, .plainToPinned: try await unpinned(mistake)
      case .clientRefused: try await withoutToken()
      default: try await answered(mistake)
      }
    }

    private func line(
      _ url: String, timeouts: Timeouts? = nil, engine edit: (inout CurlConfiguration) throws -> Void = { _ in },
      configure: (inout StackConfiguration) -> Void = { _ in }
    ) async throws -> String {
      var engine = CurlConfiguration()
      engine.connection.proxy = .none
      if let authority { engine.connection.tls.roots = .pem(Array(authority.rootPEM.utf8)) }
      try edit(&engine)
      var configuration = StackConfiguration.patient
      if let timeouts { configuration.timeouts = timeouts }
      configure(&configuration)
      let stack = try CurlNetworkStack(engine, configuration: configuration)
      do {
        _ = try await stack.fetch(.get(url, as: Model.self, or: APIFailure.self))
        throw TestFailure("the fetch succeeded")
      } catch let error as HTTPFetchError<APIFailure> {
        #expect(error.localizedDescription == "\(error)")
        return "\(error)"
      }
    }

    /// A port without a listener.
    private func deadPort() throws -> Int {
      let server = try LoopbackServer.http { _ in .text("") }
      server.stop()
      return server.port
    }

    private func unreached(_ mistake: Mistake) async throws -> String {
      switch mistake {
      case .unknownHost: return try await line("https://nowhere.invalid/a")
      case .refused: return try await line("http://127.0.0.1:\(try deadPort())/a")
      case .rootsMissing:
        return try await line("https://localhost/a", engine: { $0.connection.tls.roots = .file("/nowhere/ca.pem") })
      case .proxyDown:
        let port = try deadPort()
        return try await line("https://a.example/a", engine: { $0.connection.proxy = .url("http://127.0.0.1:\(port)") })
      default:
        let proxy = try LoopbackServer.http { _ in LoopbackResponse(status: 403) }
        return try await line("https://a.example/a", engine: { $0.connection.proxy = .url(proxy.baseURL) })
      }
    }

    private func unsecured(_ mistake: Mistake) async throws -> String {
      let known = try #require(authority)
      let issuer = mistake == .unknownAuthority ? try CertificateAuthority() : known
      var tls = LoopbackTLS(
        try issuer.issue(
          hosts: [mistake == .otherHost ? "other.example" : "localhost"],
          validity: mistake == .expired ? .expired : .days(2)))
      if mistake == .handshakeStalls { tls.handshakeFault = .stallInHandshake }
      if mistake == .tlsToPlainPort { tls.handshakeFault = .plaintextInsteadOfTLS }
      let server = try LoopbackServer.http(tls: tls) { _ in .text("") }
      let scheme = mistake == .plainToTLSPort ? "http" : "https"
      let limit = mistake == .handshakeStalls ? try Timeouts(connect: .milliseconds(100)) : nil
      return try await line("\(scheme)://localhost:\(server.port)/a", timeouts: limit)
    }

    private func unpinned(_ mistake: Mistake) async throws -> String {
      let issuer = try #require(authority)
      let tls = LoopbackTLS(try issuer.issue(hosts: ["localhost"]))
      let server = try LoopbackServer.http(tls: mistake == .plainToPinned ? nil : tls) { _ in .text("") }
      let host = mistake == .noPolicy ? "other.example" : "localhost"
      let pins = try ["a.example", "b.example"].map { "\(try CertificateMint.selfSigned(hosts: [$0]).pin)" }
      let policy = try PinningPolicy(domainName: host, pinnedHashes: Set(pins))
      let judge = try ServerTrustEvaluator(
        configuration: ServerTrustEvaluator.Configuration(pinningPolicies: [policy], allowNotPinnedDomains: false))
      let scheme = mistake == .plainToPinned ? "http" : "https"
      return try await line("\(scheme)://localhost:\(server.port)/a", engine: { $0.connection.tls.trustJudge = judge })
    }

    private func withoutToken() async throws -> String {
      let api = try DemoAPI.start()
      let client = try OAuth2Client(
        tokenURL: "\(api.baseURL)/oauth/token", id: api.clientID, authentication: .basic("wrong"))
      let authenticator = try BearerAuthenticator(
        source: OAuth2ClientCredentials(client: client), origins: [Origin(api.baseURL)])
      return try await line("\(api.baseURL)/private", engine: { $0.connection.tls.roots = .pem(Array(api.caPEM.utf8)) })
      {
        $0.interceptors = [authenticator]
      }
    }

    private func answered(_ mistake: Mistake) async throws -> String {
      let server = try LoopbackServer.http { _ in Self.answer(to: mistake) }
      let limit = Duration.milliseconds(100)
      let timeouts: Timeouts? =
        switch mistake {
        case .idleInHead, .idleInBody: try Timeouts(idle: limit)
        case .attemptTimeout: try Timeouts(attempt: limit)
        case .totalTimeout: try Timeouts(total: limit)
        default: nil
        }
      return try await line(
        "\(server.baseURL)/a?page=7&user=ann", timeouts: timeouts,
        configure: {
          if mistake == .tooLarge { $0.maximumBodyBytes = 9 }
          $0.redirects = .follow(limit: 2)
        })
    }

    private static func answer(to mistake: Mistake) -> LoopbackResponse {
      func json(_ text: String, status: Int = 200, fault: LoopbackResponse.Fault? = nil) -> LoopbackResponse {
        LoopbackResponse(
          status: status, headers: ["Content-Type": "application/json"], body: Array(text.utf8), fault: fault)
      }
      func page(_ text: String, status: Int = 200) -> LoopbackResponse {
        LoopbackResponse(
          status: status, headers: ["Content-Type": "text/html; charset=utf-8"], body: Array(text.utf8))
      }
      return switch mistake {
      case .idleInHead, .attemptTimeout, .totalTimeout: json("{}", fault: .stall)
      case .idleInBody: json(#"{"name":"a"}"#, fault: .stallBody(after: 3))
      case .cut: json(#"{"name":"a"}"#, fault: .truncateBody(after: 3))
      case .otherShape: json(#"{"name":1}"#)
      case .page: page("<!DOCTYPE html>\n<title>Log in</title>")
      case .apiError: json(#"{"message":"there is no item 999"}"#, status: 404)
      case .missingCredentials: json("", status: 401)
      case .serverPage: page("<h1>Oops</h1>", status: 500)
      case .notModified: LoopbackResponse(status: 304)
      case .redirectLoop: LoopbackResponse(status: 302, headers: ["Location": "/\(Int.random(in: 0..<(1 << 40)))"])
      default: json(#"{"name":"abcdefghijkl"}"#)
      }
    }
  }

  @Test("show how a list was paged, and no other value of the query")
  func query() async throws {
    let line = try await Lab().failure(of: .apiError)
    #expect(line.contains("/a?page=7&user=***"), "\(line)")
  }
}
