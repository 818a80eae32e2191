// SPDX-License-Identifier: Apache-2.0

import CurlSupport
import FoundationEssentials
import HTTPTypes
import Lastro
import LastroCurl
import LastroResilience
import LastroTesting
import TestSupport
import Testing

/// The egress policy, as denied destinations see it: denied listeners receive no connection.
@Suite("Egress policy", .timeLimit(.minutes(15)))
struct EgressTests {
  private static let denied = "policy/egress_denied"

  private static func stack(
    _ policy: EgressPolicy = .publicInternet,
    _ edit: (inout CurlConfiguration) -> Void = { _ in }
  ) throws -> CurlNetworkStack {
    try .direct {
      $0.connection.egress = policy
      edit(&$0)
    }
  }

  /// Returns a policy that allows loopback only at the ports of these servers.
  private static func allowing(_ servers: LoopbackServer...) throws -> EgressPolicy {
    var policy = EgressPolicy.publicInternet
    for server in servers { try policy.allow("127.0.0.0/8", ports: server.port...server.port) }
    return policy
  }

  private static func answer() throws -> LoopbackServer {
    try LoopbackServer.http { _ in .text("fine") }
  }

  @Test("Loopback is denied in every notation")
  func spellings() async throws {
    let server = try Self.answer()
    let stack = try Self.stack {
      $0.connection.resolutions = [.init(host: "far.test", port: server.port, addresses: ["127.0.0.1"])]
    }
    let hosts = [
      "127.0.0.1", "localhost", "far.test", "127.1", "2130706433", "0x7f000001", "0177.1", "0", "[::1]",
      "[::ffff:7f00:1]", "[::ffff:127.0.0.1]",
    ]
    for host in hosts {
      let error = try await failure { try await stack.send(.post, "http://\(host):\(server.port)/", body: .raw("pay")) }
      // A host that the URL parser does not accept as an address is refused earlier.
      #expect([Self.denied, "request/invalid_url"].contains(error.words), "\(host): \(error)")
      #expect(error.transportError?.requestSent == false)
    }
    let error = try await failure { try await stack.send(.get, "http://far.test:\(server.port)/") }
    #expect(error.words == Self.denied)
    #expect("\(error)".contains("far.test:\(server.port): loopback"), "\(error)")
    #expect(!"\(error)".contains("127.0.0.1"))
    #expect(server.acceptedConnections == 0)
  }

  @Test("A denied request is not retried")
  func isFinal() async throws {
    let server = try Self.answer()
    var configuration = StackConfiguration.patient
    configuration.interceptors = [RetryInterceptor(policy: .maxRetries(3), eligibility: .any)]
    let stack = try CurlNetworkStack.direct(
      {
        $0.connection.egress = .publicInternet
      }, configuration: configuration)
    let error = try await failure { try await stack.send(.get, server.baseURL + "/") }
    #expect(error.words == Self.denied)
    #expect(error.attempts.count == 1, "\(error.attempts)")
  }

  @Test("A redirect to a denied address is not followed")
  func redirects() async throws {
    let inner = try Self.answer()
    for target in ["127.0.0.1", "[::ffff:127.0.0.1]", "localhost"] {
      let outer = try LoopbackServer.http { _ in
        LoopbackResponse(status: 302, headers: ["Location": "http://\(target):\(inner.port)/"])
      }
      let stack = try Self.stack(try Self.allowing(outer))
      let error = try await failure { try await stack.send(.get, outer.baseURL + "/") }
      #expect(error.words == Self.denied, "\(error)")
      #expect(outer.acceptedConnections == 1)
    }
    #expect(inner.acceptedConnections == 0)
  }

  @Test(
    "For a host with allowed and denied addresses, none or only the allowed ones are used")
  func mixedAnswers() async throws {
    let server = try Self.answer()
    var policy = try Self.allowing(server)
    try policy.deny("127.0.0.2")
    let url = "http://far.test:\(server.port)/"
    for skips in [false, true] {
      policy.skipsDeniedAddresses = skips
      let stack = try Self.stack(policy) {
        $0.connection.resolutions = [.init(host: "far.test", port: server.port, addresses: ["127.0.0.2", "127.0.0.1"])]
      }
      if skips {
        #expect(try await stack.send(.get, url).text == "fine")
      } else {
        let error = try await failure { try await stack.send(.get, url) }
        #expect(error.words == Self.denied)
        #expect(server.acceptedConnections == 0)
      }
    }
  }

  @Test("If only one of a host's address families is allowed, it is used where mixed answers are permitted")
  func families() async throws {
    let server = try Self.answer()
    for addresses in [["::1", "127.0.0.1"], ["127.0.0.1", "::1"]] {
      var policy = try Self.allowing(server)
      policy.skipsDeniedAddresses = true
      let stack = try Self.stack(policy) {
        $0.connection.resolutions = [.init(host: "far.test", port: server.port, addresses: addresses)]
      }
      #expect(try await stack.send(.get, "http://far.test:\(server.port)/").text == "fine")
    }
  }

  @Test("The failure of an allowed address is reported, whatever other addresses were denied")
  func otherFailures() async throws {
    let authority = try CertificateAuthority()
    let server = try LoopbackServer.http(tls: LoopbackTLS(authority.issue(hosts: ["far.test"]))) { _ in .text("fine") }
    for (port, words) in [(1, "connect/connect_failed"), (server.port, "tls/untrusted_certificate")] {
      var policy = EgressPolicy.publicInternet
      try policy.allow("127.0.0.1")
      policy.skipsDeniedAddresses = true
      let stack = try Self.stack(policy) {
        $0.connection.resolutions = [.init(host: "far.test", port: port, addresses: ["127.0.0.2", "127.0.0.1"])]
      }
      let error = try await failure { try await stack.send(.get, "https://far.test:\(port)/") }
      #expect(error.words == words, "\(error)")
    }
  }

  @Test(
    "A request's own options keep the engine's rules unless they replace them")
  func inherited() async throws {
    let server = try Self.answer()
    let stack = try Self.stack()
    let silent = RequestOptions.connection { $0.httpVersion = .http1 }
    let error = try await failure { try await stack.send(.get, server.baseURL + "/", options: silent) }
    #expect(error.words == Self.denied)
    #expect(server.acceptedConnections == 0)
    let outspoken = RequestOptions.connection { $0.egress = .unrestricted }
    #expect(try await stack.send(.get, server.baseURL + "/", options: outspoken).text == "fine")
    #expect(try await failure { try await stack.send(.get, server.baseURL + "/") }.words == Self.denied)
  }

  @Test("A denial ends no other request for the same proxy")
  func sharedProxy() async throws {
    let proxy = try LoopbackServer.http { .text($0.target) }
    var policy = EgressPolicy.publicInternet
    policy.trustsProxies = true
    // A new engine has no connection yet, so all requests wait for dials.
    for _ in 0..<10 {
      let stack = try Self.stack(policy) { $0.connection.proxy = .url(proxy.baseURL) }
      await withTaskGroup(of: Void.self) { group in
        for number in 0..<16 {
          group.addTask {
            do {
              if number.isMultiple(of: 2) {
                #expect(try await stack.send(.get, "http://far.test/").text == "http://far.test/")
              } else {
                #expect(try await failure { try await stack.send(.get, "http://127.0.0.1/") }.words == Self.denied)
              }
            } catch { Issue.record(error) }
          }
        }
      }
    }
    #expect(proxy.requests.allSatisfy { $0.target == "http://far.test/" })
  }

  @Test("The explanation of a request contains the rules")
  func explained() async throws {
    func explanation(_ policy: EgressPolicy) async throws -> String {
      let stack = try Self.stack(policy)
      return await stack.explain(RawHTTPResource.raw(try ResourceRequest(url: "https://far.test/")))
    }
    #expect(try await explanation(.publicInternet).contains("hosts of the Internet, and what is allowed; no proxies"))
    #expect(try await !explanation(.unrestricted).contains("egress"))
  }

  @Test("A connection that was opened without rules serves no request under rules")
  func pooled() async throws {
    let server = try Self.answer()
    let stack = try Self.stack(.unrestricted)
    #expect(try await stack.send(.get, server.baseURL + "/").text == "fine")
    let options = RequestOptions.connection { $0.egress = .publicInternet }
    let error = try await failure { try await stack.send(.get, server.baseURL + "/", options: options) }
    #expect(error.words == Self.denied)
    #expect(try await stack.send(.get, server.baseURL + "/").response.facts.connectionReused)
    #expect(server.requests.count == 2)
  }

  @Test("Proxies are refused, or trusted to choose addresses")
  func proxies() async throws {
    let proxy = try LoopbackServer.http { .text($0.target) }
    var policy = try Self.allowing(proxy)
    for url in [proxy.baseURL, "socks5h://127.0.0.1:\(proxy.port)"] {
      let stack = try Self.stack(policy) { $0.connection.proxy = .url(url) }
      for target in ["http://far.test/", "https://far.test/"] {
        #expect(try await failure { try await stack.send(.get, target) }.words == Self.denied)
      }
    }
    #expect(proxy.acceptedConnections == 0)
    policy = .publicInternet
    policy.trustsProxies = true
    let stack = try Self.stack(policy) { $0.connection.proxy = .url(proxy.baseURL) }
    #expect(try await stack.send(.get, "http://far.test/").text == "http://far.test/")
    // The connection to the proxy is already open, so no dial judges these targets.
    for target in ["169.254.169.254", "127.0.0.1", "[fd00:ec2::254]"] {
      #expect(try await failure { try await stack.send(.get, "http://\(target)/") }.words == Self.denied, "\(target)")
    }
    #expect(proxy.requests.map(\.target) == ["http://far.test/"])
  }

  @Test("Unix sockets are refused")
  func unixSocket() async throws {
    let stack = try Self.stack { $0.connection.unixSocketPath = "/run/none" }
    #expect(try await failure { try await stack.send(.get, "http://far.test/") }.words == Self.denied)
  }

  @Test("Streams and datagrams are not dialed to denied addresses")
  func streams() async throws {
    let server = try LoopbackServer { try $0.echo() }
    let datagrams = try LoopbackDatagramServer { .answer($0.bytes) }
    let dialer = try TestAuthority.engine { $0.connection.egress = .publicInternet }
    let names = ["127.0.0.1", "localhost", "::1"]
    for name in names {
      #expect(await words { try await dialer.dial(DialRequest(host: name, port: server.port)) } == Self.denied)
      #expect(
        await words { try await dialer.dialDatagrams(DialRequest(host: name, port: datagrams.port)) } == Self.denied)
    }
    #expect(server.acceptedConnections == 0)
    // These options do not mention egress, as with a Gemini client, so the engine's rules apply.
    let own = DialRequest(host: "127.0.0.1", port: server.port, connection: ConnectionOptions())
    #expect(await words { try await dialer.dial(own) } == Self.denied)
    #expect(server.acceptedConnections == 0)
    var allowing = DialRequest(host: "127.0.0.1", port: datagrams.port)
    var options = ConnectionOptions()
    options.egress = .publicInternet
    try options.egress.allow("127.0.0.1")
    allowing.connection = options
    let stream = try await dialer.dialDatagrams(allowing)
    try await stream.send(Data("hello".utf8))
    #expect(try await stream.receive() == Data("hello".utf8))
    #expect(datagrams.datagrams.count == 1)
  }
}
