// SPDX-License-Identifier: Apache-2.0

import CurlSupport
import Lastro
import LastroCurl
import LastroEveryday
import LastroSupport
import LastroTesting
import PeerSupport
import TestSupport
import Testing

/// A resolver that asks another resolver, which is created later.
private final class Later: NameResolver {
  let resolver = Lock<(any NameResolver)?>(nil)

  func resolve(_ name: HostName, port: Int) async throws(TransportError) -> ResolvedName {
    guard let resolver = resolver.withLock({ $0 }) else { return try ResolvedName(addresses: []) }
    return try await resolver.resolve(name, port: port)
  }
}

@Suite("DNS over HTTPS over the engine", .timeLimit(.minutes(15)))
struct DoHServerTests {
  /// Returns a stack that ignores the proxies of the environment.
  private static func stack(_ edit: (inout ConnectionOptions) -> Void = { _ in }) throws -> CurlNetworkStack {
    var configuration = CurlConfiguration()
    configuration.connection.proxy = .none
    edit(&configuration.connection)
    return try CurlNetworkStack(configuration, configuration: .patient)
  }

  /// Returns a resolver whose clock does not advance, so that its time limit is never reached.
  private static func resolver(_ urls: [String], over stack: CurlNetworkStack) throws -> DoHResolver {
    try DoHResolver(urls, over: stack, timeout: .seconds(600), time: ManualClock().timeSource)
  }

  @Test("A server of Python's standard library resolves the URL's host, which is cached for its time to live")
  func python() async throws {
    let peer = try await PythonDoHPeer.start()
    let clock = ManualClock()
    let names = try CachingResolver(
      doh: ["http://127.0.0.1:\(peer.port)/dns-query"], over: Self.stack(), timeout: .seconds(600),
      time: clock.timeSource)
    let server = try LoopbackServer.http { _ in .text("fine") }
    let stack = try Self.stack { $0.resolver = names }
    for host in ["far.test", "alias.test"] {
      let answer = try await stack.fetch(.raw(try ResourceRequest(url: "http://\(host):\(server.port)/")))
      #expect(answer.response.facts.remoteAddress == "127.0.0.1")
    }
    #expect(
      server.requests.compactMap { $0.head["Host"] } == ["far.test", "alias.test"].map { "\($0):\(server.port)" })
    let far = try await names.resolve(try HostName("far.test"), port: 1)
    #expect(far == (try ResolvedName(addresses: ["127.0.0.1"], timeToLive: .seconds(30))))
    let alias = try await names.resolve(try HostName("alias.test"), port: 1)
    #expect(alias == (try ResolvedName(addresses: ["127.0.0.1"], timeToLive: .seconds(20))))
    #expect(peer.log().sorted() == ["alias.test 1", "alias.test 28", "far.test 1", "far.test 28"])
    clock.advance(by: .seconds(25))
    _ = try await names.resolve(try HostName("alias.test"), port: 1)
    #expect(peer.log().count == 6)
  }

  @Test("A server of Python's standard library answers for both families, a missing name and a failure")
  func outcomes() async throws {
    let peer = try await PythonDoHPeer.start()
    let resolver = try Self.resolver(["http://localhost:\(peer.port)/"], over: Self.stack())
    let both = try await resolver.resolve(try HostName("both.test"), port: 1)
    #expect(both == (try ResolvedName(addresses: ["::1", "127.0.0.1"], timeToLive: .seconds(20))))
    let gone = try await resolver.resolve(try HostName("gone.test"), port: 1)
    #expect(gone == (try ResolvedName(addresses: [], timeToLive: .seconds(40))))
    let error = await #expect(throws: TransportError.self) {
      try await resolver.resolve(try HostName("broken.test"), port: 1)
    }
    #expect(error?.message.contains("SERVFAIL") == true)
  }

  @Test("A response that is too long, cut or slow fails its own query only")
  func hostile() async throws {
    let server = try LoopbackServer.http { request in
      var response = LoopbackResponse(
        headers: ["Content-Type": "application/dns-message"], body: [UInt8](repeating: 0, count: 65_536))
      switch request.path {
      case "/cut": response.fault = .truncateBody(after: 100)
      case "/reset": response.fault = .reset
      default: break
      }
      return response
    }
    let stack = try Self.stack()
    for path in ["long", "cut", "reset"] {
      let resolver = try Self.resolver(["\(server.baseURL)/\(path)"], over: stack)
      let error = await #expect(throws: TransportError.self, "\(path)") {
        try await resolver.resolve(try HostName("far.test"), port: 1)
      }
      #expect(error?.words == "resolve/host_not_found", "\(path)")
    }
    let stalling = try LoopbackServer.http { _ in .fault(.stall) }
    let resolver = try DoHResolver([stalling.baseURL], over: stack, timeout: .milliseconds(50))
    let error = await #expect(throws: TransportError.self) {
      try await resolver.resolve(try HostName("far.test"), port: 1)
    }
    #expect(error?.words == "resolve/host_not_found")
  }

  @Test("A stack that resolves the resolver's own server through itself gets an error, unless the address is given")
  func loop() async throws {
    let authority = try TestAuthority()
    let dns = try LoopbackServer.http(tls: try authority.tls("dns.test")) { request in
      var draft = DNSAnswer(to: request.body)
      if !draft.isIPv6 { draft.records = [DNSAnswer.record(1, [127, 0, 0, 1])] }
      return LoopbackResponse(headers: ["Content-Type": "application/dns-message"], body: draft.bytes)
    }
    let server = try LoopbackServer.http { _ in .text("fine") }
    let request = try ResourceRequest(url: "http://far.test:\(server.port)/")
    for knowsAddress in [false, true] {
      let later = Later()
      let stack = try Self.stack {
        $0.tls.roots = authority.roots
        $0.resolver = later
        guard knowsAddress else { return }
        $0.resolutions = [.init(host: "dns.test", port: dns.port, addresses: ["127.0.0.1"])]
      }
      let resolver = try Self.resolver(["https://dns.test:\(dns.port)/"], over: stack)
      later.resolver.withLock { $0 = resolver }
      if knowsAddress {
        #expect(try await stack.fetch(.raw(request)).response.status == .ok)
      } else {
        let error = await #expect(throws: HTTPFetchError<any Error>.self) { try await stack.fetch(.raw(request)) }
        #expect(error?.stage == .resolve && error?.hint?.contains("ConnectionOptions.resolve(_:port:to:)") == true)
        #expect(dns.acceptedConnections == 0 && server.acceptedConnections == 0)
      }
      later.resolver.withLock { $0 = nil }
    }
  }
}
