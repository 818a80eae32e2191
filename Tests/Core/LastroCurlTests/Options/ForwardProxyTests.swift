// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro
import LastroTesting
import TestSupport
import Testing

@testable import LastroCurl

/// Requests for `http` URLs through HTTP proxies.
@Suite("Forward proxies", .timeLimit(.minutes(15)))
struct ForwardProxyTests {
  private static func engine(
    _ proxy: String, _ edit: (inout CurlConfiguration) -> Void = { _ in }
  ) throws -> CurlTransport {
    try .with {
      $0.connection.proxy = .url(proxy)
      edit(&$0)
    }
  }

  /// Returns the engine's outcome of a request for a host that only the proxy knows.
  private static func outcome(
    _ engine: CurlTransport, _ proxy: LoopbackServer, _ authority: String, _ path: String? = "/a?b=c",
    method: HTTPRequest.Method = .get
  ) async -> Outcome {
    await engine.outcome(proxy, method: method) {
      $0.head.scheme = "http"
      $0.head.authority = authority
      $0.head.path = path
    }
  }

  @Test("The request target is the whole URL, and hosts share the proxy's connection")
  func wholeURL() async throws {
    let proxy = try LoopbackServer.http { .text($0.head["Host"] ?? "") }
    let engine = try Self.engine(proxy.baseURL)
    for host in ["one.test", "two.test:8080", "one.test"] {
      #expect(await Self.outcome(engine, proxy, host) == .answered(200, host))
    }
    #expect(
      proxy.requests.map(\.target) == [
        "http://one.test/a?b=c", "http://two.test:8080/a?b=c", "http://one.test/a?b=c",
      ])
    #expect(proxy.acceptedConnections == 1)
  }

  @Test("The explanation says the version and the limit that apply to a forwarded request")
  func explained() async throws {
    let proxy = try LoopbackServer.http { _ in .text("fine") }
    let prior = "2, with prior knowledge", offered = "2 where the server offers it, else 1.1"
    let forHost = "up to 128 for a host"
    let cases: [(ProxyOptions, scheme: String, version: String, limit: String)] = [
      (.url(proxy.baseURL), "http", "1.1", "up to 128 for the proxy"),
      (.url(proxy.baseURL), "https", offered, forHost),
      (.url(proxy.baseURL, bypass: ["one.test"]), "http", prior, forHost),
      (.url("socks5h://127.0.0.1:\(proxy.port)"), "http", prior, forHost),
      (.none, "http", prior, forHost),
    ]
    for (options, scheme, version, limit) in cases {
      let engine = try Self.engine(proxy.baseURL) {
        $0.connection.proxy = options
        $0.connection.httpVersion = .http2
      }
      let facts = engine.explain(.to("/", scheme: scheme, authority: "one.test"))
      #expect(facts.first { $0.name == "HTTP" }?.value == version, "\(options), \(scheme)")
      #expect(facts.first { $0.name == "connections" }?.value == limit, "\(options), \(scheme)")
    }
    let engine = try Self.engine(proxy.baseURL) { $0.connection.httpVersion = .http2 }
    #expect(await Self.outcome(engine, proxy, "one.test") == .answered(200, "fine"))
  }

  @Test("OPTIONS for a whole server has no path")
  func asterisk() async throws {
    let proxy = try LoopbackServer.http { _ in .text("fine") }
    let engine = try Self.engine(proxy.baseURL)
    #expect(await Self.outcome(engine, proxy, "one.test", "*", method: .options) == .answered(200, "fine"))
    #expect(proxy.requests.map(\.target) == ["http://one.test"])
  }

  @Test("User and password of the proxy's URL are decoded and sent to the proxy")
  func credentials() async throws {
    let proxy = try LoopbackServer.http { .text($0.head["Proxy-Authorization"] ?? "none") }
    for (user, text) in [("me:p%40ss:word", "Basic bWU6cEBzczp3b3Jk"), ("me", "Basic bWU6")] {
      let engine = try Self.engine("http://\(user)@127.0.0.1:\(proxy.port)")
      #expect(await Self.outcome(engine, proxy, "one.test") == .answered(200, text))
    }
  }

  @Test("A 407 of the proxy is a proxy failure")
  func refusal() async throws {
    let proxy = try LoopbackServer.http { _ in LoopbackResponse(status: 407) }
    let engine = try Self.engine(proxy.baseURL)
    #expect(await Self.outcome(engine, proxy, "one.test") == .failed("proxy/proxy_refused"))
  }

  @Test("An HTTPS proxy is contacted over TLS")
  func secureProxy() async throws {
    let authority = try CertificateAuthority()
    let proxy = try LoopbackServer.http(tls: LoopbackTLS(authority.issue(hosts: ["localhost"]))) { .text($0.target) }
    let url = "https://localhost:\(proxy.port)"
    let engine = try Self.engine(url) { $0.connection.tls.roots = .pem(Array(authority.rootPEM.utf8)) }
    for _ in 0..<2 {
      #expect(await Self.outcome(engine, proxy, "one.test") == .answered(200, "http://one.test/a?b=c"))
    }
    #expect(proxy.acceptedConnections == 1)
    let stranger = try Self.engine(url)
    #expect(await Self.outcome(stranger, proxy, "one.test") == .failed("proxy/untrusted_certificate"))
    #expect(proxy.requests.count == 2)
  }

  @Test(
    "A pinned host is not contacted in the clear over a connection that serves another host")
  func pinnedHost() async throws {
    let proxy = try LoopbackServer.http { _ in .text("fine") }
    let spare = "sha256/" + String(repeating: "B", count: 43) + "="
    let policy = try PinningPolicy("pinned.test", pins: [spare, "sha256/" + String(repeating: "A", count: 43) + "="])
    let engine = try Self.engine(proxy.baseURL) { $0.pins = [policy] }
    #expect(await Self.outcome(engine, proxy, "one.test") == .answered(200, "fine"))
    #expect(await Self.outcome(engine, proxy, "pinned.test") == .failed("trust/plaintext_refused"))
    #expect(await Self.outcome(engine, proxy, "one.test") == .answered(200, "fine"))
    #expect(proxy.requests.count == 2)
  }
}
