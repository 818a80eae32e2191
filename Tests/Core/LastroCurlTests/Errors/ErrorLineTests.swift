// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import LastroCurl
import LastroSupport
import LastroTesting
import TestSupport
import Testing

/// Common mistakes, made for real, and the contents of the one log line for each.
@Suite("Error lines", .timeLimit(.minutes(15)))
struct ErrorLineTests {
  enum Mistake: String, CaseIterable, CustomTestStringConvertible {
    case unknownHost, refused, expired, unknownAuthority, otherHost, tlsToPlainPort, plainToTLSPort, handshakeStalls
    case idleInHead, idleInBody, attemptTimeout, totalTimeout
    case wrongPin, noPolicy, plainToPinned
    case otherShape, page, apiError, missingCredentials, serverPage, notModified, tooLarge, cut
    case proxyDown, proxyRefuses, proxyExpired, rootsMissing, clientRefused, tokensDown, redirectLoop
    case retriesSpent, urlWithSpace, urlWithoutScheme, injectedField, shutDown

    var testDescription: String { rawValue }

    /// Whether a limit in time is the failure.
    var isLate: Bool { [.handshakeStalls, .idleInHead, .idleInBody, .attemptTimeout, .totalTimeout].contains(self) }

    /// The stage and code, and the parts that the line must contain: the exceeded limit, the API's message, the advice.
    /// `LIMIT` is the limit in time.
    var expected: (code: String, parts: [String]) {
      switch self {
      case .unknownHost: ("resolve/host_not_found", ["nowhere.invalid", "check the name"])
      case .refused: ("connect/connect_failed", ["cannot connect to", "Connection refused", "check host and port"])
      case .expired:
        ("tls/certificate_expired", ["has expired: it was valid from 20", "Z to 20", "this machine's clock"])
      case .unknownAuthority: ("tls/untrusted_certificate", ["leads to no trusted root", "TLSOptions.roots"])
      case .otherHost: ("tls/host_mismatch", ["for other names: other.example (check the host in the URL"])
      case .tlsToPlainPort: ("tls/handshake_failed", ["may not use TLS on this port"])
      case .plainToTLSPort: ("response/connection_lost", ["write https"])
      case .handshakeStalls: ("timeout/connect_timeout", ["LIMIT", "raise the connect timeout"])
      case .idleInHead: ("timeout/idle_timeout", ["LIMIT", "waiting for the response", "raise Timeouts.idle"])
      case .idleInBody: ("timeout/idle_timeout", ["LIMIT", "receiving the body", "raise Timeouts.idle"])
      case .attemptTimeout: ("timeout/attempt_timeout", ["LIMIT", "raise Timeouts.attempt"])
      case .totalTimeout: ("timeout/total_timeout", ["LIMIT", "raise Timeouts.total"])
      case .wrongPin: ("trust/pin_mismatch", ["the pinning policy for localhost", "add the new one"])
      case .noPolicy: ("trust/host_not_pinned", ["add a policy for it"])
      case .plainToPinned: ("trust/plaintext_refused", ["use https"])
      case .otherShape: ("decode/undecodable", ["at name: ", "String was expected", "compare the model"])
      case .page:
        (
          "decode/undecodable",
          ["it is text/html, and begins with <!DOCTYPE html>", "whether something else responds in place of the API"]
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
      case .proxyExpired:
        ("proxy/certificate_expired", ["the proxy localhost:", "it was valid from 20", "this machine's clock"])
      case .clientRefused:
        ("http/token_refused", ["GET https://", "invalid_client", "check the client's id and secret"])
      case .tokensDown:
        ("connect/token_unavailable", ["(POST http://127.0.0.1:", "Connection refused (check host and port"])
      case .retriesSpent:
        (
          "http/unexpected_status",
          ["500 Internal Server Error", "the API says: ", "3 attempts", "the limit of 2 retries is reached"]
        )
      case .urlWithSpace: ("request/invalid_url", ["has a space", "write a space as %20"])
      case .urlWithoutScheme: ("request/invalid_url", ["no scheme", "begin it with https:// or http://"])
      case .injectedField: ("request/invalid_header", ["X-Name", "control character", "remove CR, LF"])
      case .shutDown: ("cancelled/shut_down", ["the application shut the stack down", "make a new stack"])
      case .redirectLoop: ("redirect/too_many_redirects", ["the limit of 2", "raise RedirectPolicy's limit"])
      }
    }

  }

  /// A log line, and the host and port that it must name; `nil` if the failure concerns no host.
  private typealias Failed = (line: String, place: String?)

  @Test("An error line shows the stage, the limit, the API's message and the remedy", arguments: Mistake.allCases)
  func line(_ mistake: Mistake) async throws {
    let (code, expected) = mistake.expected
    var (line, parts) = ("", expected)
    // On a busy machine a short limit passes before the request has reached the server, so a longer one follows.
    let limits = [(Duration.milliseconds(100), "100 ms"), (.seconds(2), "2 s"), (.seconds(30), "30 s")]
    for (limit, text) in limits.prefix(mistake.isLate ? 3 : 1) {
      let failed = try await Lab(limit: limit).failure(of: mistake)
      line = failed.line
      parts = expected.map { $0 == "LIMIT" ? text : $0 } + (failed.place.map { [$0] } ?? [])
      if parts.allSatisfy(line.contains) { break }
    }
    #expect(line.hasPrefix(code + ": "), "\(line)")
    for part in parts { #expect(line.contains(part), "\(part)? \(line)") }
    #expect(!line.contains("\n"), "\(line)")
  }

  @Test("Root certificates that cannot be read are reported when the engine is created")
  func roots() throws {
    let error = try #require(throws: ConfigurationError.self) {
      try CurlNetworkStack.direct { $0.connection.tls.roots = .file("/nowhere/ca.pem") }
    }
    let text = "the file of trusted roots /nowhere/ca.pem cannot be read: No such file or directory (give readable PEM"
    #expect("\(error)".hasPrefix(text), "\(error)")
  }

  /// A trusted authority, and servers that fail.
  private struct Lab {
    /// The limit in time of those failures that need one.
    var limit = Duration.milliseconds(100)
    let authority = try? CertificateAuthority()

    func failure(of mistake: Mistake) async throws -> Failed {
      switch mistake {
      case .unknownHost, .refused, .proxyDown, .proxyRefuses: try await unreached(mistake)
      case .expired, .unknownAuthority, .otherHost, .tlsToPlainPort, .plainToTLSPort, .handshakeStalls:
        try await unsecured(mistake)
      case .proxyExpired: try await expiredProxy()
      case .wrongPin, .noPolicy, .plainToPinned: try await unpinned(mistake)
      case .clientRefused, .tokensDown: try await withoutToken(mistake)
      case .urlWithSpace, .urlWithoutScheme, .injectedField, .shutDown, .rootsMissing: (try await unsent(mistake), nil)
      default: try await answered(mistake)
      }
    }

    private func line(
      _ url: String, headers: RawHeaders = [:], options: RequestOptions = RequestOptions(), timeouts: Timeouts? = nil,
      engine edit: (inout CurlConfiguration) throws -> Void = { _ in },
      configure: (inout StackConfiguration) -> Void = { _ in }, prepare: (CurlNetworkStack) async -> Void = { _ in }
    ) async throws -> String {
      var engine = CurlConfiguration()
      engine.connection.proxy = .none
      if let authority { engine.connection.tls.roots = .pem(Array(authority.rootPEM.utf8)) }
      try edit(&engine)
      var configuration = StackConfiguration.patient
      if let timeouts { configuration.timeouts = timeouts }
      configure(&configuration)
      let stack = try CurlNetworkStack(engine, configuration: configuration)
      await prepare(stack)
      do {
        _ = try await stack.fetch(.get(url, headers: headers, as: Model.self, or: APIFailure.self, options: options))
        throw TestFailure("the fetch succeeded")
      } catch let error as HTTPFetchError<APIFailure> {
        #expect(error.localizedDescription == "\(error)")
        return "\(error)"
      }
    }

    /// Returns a port on which nothing listens.
    private func deadPort() throws -> Int {
      let server = try LoopbackServer.http { _ in .text("") }
      server.stop()
      return server.port
    }

    /// Makes a mistake that fails before anything is sent, and returns its line.
    private func unsent(_ mistake: Mistake) async throws -> String {
      switch mistake {
      case .urlWithSpace: return try await line("https://a.example/a b")
      case .urlWithoutScheme: return try await line("a.example/a")
      case .injectedField: return try await line("https://a.example/a", headers: ["X-Name": "a\r\nX-Other: b"])
      case .shutDown: return try await line("https://a.example/a", prepare: { await $0.shutDown() })
      default:
        let options = RequestOptions.connection { $0.tls.roots = .file("/nowhere/ca.pem") }
        return try await line("https://localhost/a", options: options)
      }
    }

    private func unreached(_ mistake: Mistake) async throws -> Failed {
      let port = try deadPort()
      switch mistake {
      case .unknownHost: return (try await line("https://nowhere.invalid/a"), "https://nowhere.invalid/a")
      case .refused: return (try await line("http://127.0.0.1:\(port)/a"), "127.0.0.1:\(port)")
      case .proxyDown:
        let proxy = "127.0.0.1:\(port)"
        let line = try await line("https://a.example/a", engine: { $0.connection.proxy = .url("http://\(proxy)") })
        return (line, proxy)
      default:
        let proxy = try LoopbackServer.http { _ in LoopbackResponse(status: 403) }
        let line = try await line("https://a.example/a", engine: { $0.connection.proxy = .url(proxy.baseURL) })
        #expect(line.contains("a.example:443"), "\(line)")
        return (line, "127.0.0.1:\(proxy.port)")
      }
    }

    private func unsecured(_ mistake: Mistake) async throws -> Failed {
      let known = try #require(authority)
      let issuer = mistake == .unknownAuthority ? try CertificateAuthority() : known
      var tls = LoopbackTLS(
        try issuer.issue(
          hosts: [mistake == .otherHost ? "other.example" : "localhost"],
          days: mistake == .expired ? -366 ... -1 : 0...2))
      if mistake == .handshakeStalls { tls.handshakeFault = .stallInHandshake }
      if mistake == .tlsToPlainPort { tls.handshakeFault = .plaintextInsteadOfTLS }
      let server = try LoopbackServer.http(tls: tls) { _ in .text("") }
      let scheme = mistake == .plainToTLSPort ? "http" : "https"
      let limit = mistake == .handshakeStalls ? try Timeouts(connect: limit) : nil
      let place = "localhost:\(server.port)"
      return (try await line("\(scheme)://\(place)/a", timeouts: limit), place)
    }

    private func expiredProxy() async throws -> Failed {
      let identity = try #require(authority).issue(hosts: ["localhost"], days: -366 ... -1)
      let proxy = try LoopbackServer.http(tls: LoopbackTLS(identity)) { _ in .text("") }
      let place = "localhost:\(proxy.port)"
      let line = try await line("https://a.example/a", engine: { $0.connection.proxy = .url("https://\(place)") })
      return (line, place)
    }

    private func unpinned(_ mistake: Mistake) async throws -> Failed {
      let issuer = try #require(authority)
      let tls = LoopbackTLS(try issuer.issue(hosts: ["localhost"]))
      let server = try LoopbackServer.http(tls: mistake == .plainToPinned ? nil : tls) { _ in .text("") }
      let host = mistake == .noPolicy ? "other.example" : "localhost"
      let pins = try ["a.example", "b.example"].map { "\(try CertificateMint.selfSigned(hosts: [$0]).pin)" }
      let policy = try PinningPolicy(host, pins: Set(pins))
      let judge = try ServerTrustEvaluator(
        configuration: ServerTrustEvaluator.Configuration(pinningPolicies: [policy], allowNotPinnedDomains: false))
      let scheme = mistake == .plainToPinned ? "http" : "https"
      let place = "localhost:\(server.port)"
      return (try await line("\(scheme)://\(place)/a", engine: { $0.connection.tls.trustJudge = judge }), place)
    }

    private func withoutToken(_ mistake: Mistake) async throws -> Failed {
      let api = try DemoAPI.start()
      let tokens = mistake == .tokensDown ? "http://127.0.0.1:\(try deadPort())" : api.baseURL
      let client = try OAuth2Client(
        tokenURL: "\(tokens)/oauth/token", id: api.clientID, authentication: .basic("wrong"),
        allowsInsecureTokenURL: true)
      let authenticator = try BearerAuthenticator(
        source: client.clientCredentials(), origins: [Origin(api.baseURL)])
      let line = try await line(
        "\(api.baseURL)/private", engine: { $0.connection.tls.roots = .pem(Array(api.caPEM.utf8)) },
        configure: { $0.interceptors = [authenticator] })
      return (line, String(tokens.drop { $0 != "/" }.dropFirst(2)))
    }

    private func answered(_ mistake: Mistake) async throws -> Failed {
      let server = try LoopbackServer.http { _ in Self.answer(to: mistake) }
      let timeouts: Timeouts? =
        switch mistake {
        case .idleInHead, .idleInBody: try Timeouts(idle: limit)
        case .attemptTimeout: try Timeouts(attempt: limit)
        case .totalTimeout: try Timeouts(total: limit)
        default: nil
        }
      let line = try await line(
        "\(server.baseURL)/a?page=7&user=ann", timeouts: timeouts,
        configure: {
          if mistake == .tooLarge { $0.maximumBodyBytes = 9 }
          if mistake == .retriesSpent { $0.interceptors = [RetryInterceptor(policy: .maxRetries(2))] }
          $0.redirects = .follow(limit: 2)
        })
      return (line, "127.0.0.1:\(server.port)")
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
      case .retriesSpent: json(#"{"message":"out of order"}"#, status: 500)
      case .notModified: LoopbackResponse(status: 304)
      case .redirectLoop: LoopbackResponse(status: 302, headers: ["Location": "/\(Int.random(in: 0..<(1 << 40)))"])
      default: json(#"{"name":"abcdefghijkl"}"#)
      }
    }
  }

  @Test("An error line shows the query items used for paging, and no other value of the query")
  func query() async throws {
    let (line, _) = try await Lab().failure(of: .apiError)
    #expect(line.contains("/a?page=7&user=***"), "\(line)")
  }
}
