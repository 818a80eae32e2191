// SPDX-License-Identifier: Apache-2.0

import CurlSupport
import FoundationEssentials
import HTTPTypes
import Lastro
import LastroCurl
import LastroTesting
import PeerSupport
import TestSupport
import Testing

/// Trust checks for servers behind proxies, and for the proxies themselves.
@Suite("Trust: proxies", .peers(.nginx, .squid, .dante), .timeLimit(.minutes(15)))
struct ProxyTrustTests {
  private func pin(_ path: String) throws -> String {
    try SPKIHash(pem: String(decoding: Data(contentsOf: URL(filePath: path)), as: UTF8.self)).description
  }

  private var server: String { get throws { try pin(Peers.nginx.certificates.server) } }
  private var proxy: String { get throws { try pin(Peers.squid.certificates.server) } }

  private func stack(_ proxy: String, _ policies: PinningPolicy..., allowsOthers: Bool = true) throws
    -> CurlNetworkStack
  {
    let roots =
      try Data(contentsOf: URL(filePath: Peers.squid.certificates.authority))
      + Data(contentsOf: URL(filePath: Peers.nginx.certificates.authority))
    let configuration = try ServerTrustEvaluator.Configuration(
      pinningPolicies: policies, allowNotPinnedDomains: allowsOthers)
    let port = try Peers.nginx.ports.tls
    return try .direct {
      // Dante and nginx support IPv4 only, and the address that libcurl passes to a proxy for a name depends on its
      // version.
      $0.connection.resolutions = [.init(host: "localhost", port: port, addresses: ["127.0.0.1"])]
      $0.connection.tls.roots = .pem([UInt8](roots))
      $0.connection.tls.trustJudge = ServerTrustEvaluator(configuration: configuration)
      $0.connection.proxy = .url(proxy)
    }
  }

  @Test("A server behind a proxy is checked against its pins, and is sent nothing if they fail", .needsDante)
  func serverBehindProxy() async throws {
    let nginx = try Peers.nginx
    let url = "https://localhost:\(nginx.ports.tls)/json"
    for way in [
      "http://127.0.0.1:\(try Peers.squid.port)", "https://127.0.0.1:\(try Peers.squid.tlsPort)",
      "socks5://127.0.0.1:\(try Peers.dante.port)", "socks5h://127.0.0.1:\(try Peers.dante.port)",
    ] {
      let pinned = try stack(way, TestAuthority.policy("localhost", server))
      #expect(try await pinned.send(.get, url).response.facts.trust == .pinned, "\(way)")
      let again = try await pinned.send(.get, url)
      #expect(again.response.facts.connectionReused && again.response.facts.trust == .pinned, "\(way)")
      let refusing = try stack(way, TestAuthority.policy("localhost", TestAuthority.absentPin))
      let error = try await failure { try await refusing.send(.get, url + "?refused-behind") }
      #expect(error.words == "trust/pin_mismatch", "\(way)")
      #expect(error.trustFailure?.trust.role == .server && error.trustFailure?.trust.port == nginx.ports.tls)
    }
    #expect(!nginx.accessLog().contains { $0.contains("refused-behind") })
  }

  @Test("An HTTPS proxy is pinned if a policy names its host, for http and https alike")
  func pinnedProxy() async throws {
    let squid = try Peers.squid, nginx = try Peers.nginx
    let way = "https://localhost:\(squid.tlsPort)"
    let urls = ["https://127.0.0.1:\(nginx.ports.tls)/json", "http://127.0.0.1:\(nginx.ports.plain)/json"]
    for url in urls {
      let pinned = try stack(way, TestAuthority.policy("localhost", proxy))
      #expect(try await pinned.send(.get, url).response.status.code == 200)
      // The server's key differs from the proxy's. The query `refused-proxy` marks the request in the logs.
      let refusing = try stack(way, TestAuthority.policy("localhost", server))
      let error = try await failure { try await refusing.send(.get, url + "?refused-proxy") }
      #expect(error.words == "trust/pin_mismatch", "\(url)")
      #expect(error.trustFailure?.trust.role == .proxy && error.trustFailure?.trust.port == squid.tlsPort)
    }
    #expect(!squid.accessLog().contains { $0.contains("refused-proxy") })
    #expect(!nginx.accessLog().contains { $0.contains("refused-proxy") })
  }

  @Test("Proxy and server with the same name and address are each judged by their own certificates")
  func proxyOfTheSameName() async throws {
    let squid = try Peers.squid, nginx = try Peers.nginx
    let way = "https://localhost:\(squid.tlsPort)"
    let url = "https://localhost:\(nginx.ports.tls)/json"
    let both = try stack(way, TestAuthority.policy("localhost", proxy, server))
    #expect(try await both.send(.get, url).response.facts.trust == .pinned)
    for (pin, role) in [(try proxy, ServerTrust.Role.server), (try server, .proxy)] {
      let error = try await failure {
        try await stack(way, TestAuthority.policy("localhost", pin)).send(.get, url + "?refused-one")
      }
      #expect(error.trustFailure?.trust.role == role)
    }
    #expect(!nginx.accessLog().contains { $0.contains("refused-one") })
  }

  @Test("A proxy whose certificate is refused is not tried again, whatever a policy says")
  func untrustedProxyIsNotRetried() async throws {
    var configuration = StackConfiguration.patient
    configuration.interceptors = [
      RetryInterceptor(
        policy: .backoff(.constant(delay: .seconds(0), until: .maxRetries(3))), eligibility: .any)
    ]
    let port = try Peers.squid.tlsPort
    let stack = try CurlNetworkStack.direct(
      { $0.connection.proxy = .url("https://localhost:\(port)") }, configuration: configuration)
    let error = try await failure { try await stack.send(.get, "http://127.0.0.1:1/") }
    #expect(error.words == "proxy/untrusted_certificate" && error.attempts.count == 1)
  }

  @Test("A proxy without a policy is verified normally, even if other hosts are refused")
  func proxyWithoutPolicy() async throws {
    let way = "https://127.0.0.1:\(try Peers.squid.tlsPort)"
    let url = "https://localhost:\(try Peers.nginx.ports.tls)/json"
    let strict = try stack(way, TestAuthority.policy("localhost", server), allowsOthers: false)
    #expect(try await strict.send(.get, url).response.facts.trust == .pinned)
  }
}
