// SPDX-License-Identifier: Apache-2.0

import GRPCCore
import Lastro
import LastroCurl
import LastroGRPC
import LastroHTTP
import LastroResilience
import LastroTesting
import LastroTunnels
import Testing

@Suite("What a stack does applies to calls", .timeLimit(.minutes(15)))
struct StackTests {
  private static let answer = LoopbackResponse(
    headers: ["content-type": "application/grpc"], body: [0, 0, 0, 0, 1, 9]
  ).addingTrailer("grpc-status", "0")

  private func failure(_ transport: LastroGRPCTransport) async throws -> RPCError {
    try await withEcho(transport) { client in
      let error = await #expect(throws: RPCError.self) { try await client.unary([1]).message }
      return try #require(error)
    }
  }

  private func expectAnswer(_ transport: LastroGRPCTransport) async throws {
    try await withEcho(transport) {
      let answer = try await $0.unary([1]).message
      #expect(answer == [9])
    }
  }

  @Test("A pinned server is called, and one with another key is not")
  func pins() async throws {
    let authority = try CertificateAuthority()
    let certificate = try authority.issue(hosts: ["localhost"])
    let server = try LoopbackServer.http2(tls: LoopbackTLS(certificate)) { _ in Self.answer }
    func pinned(_ pins: Set<String>) throws -> CurlNetworkStack {
      let policy = try PinningPolicy("localhost", pins: pins)
      return try stack {
        $0.connection.httpVersion = .automatic
        $0.connection.tls.roots = .pem(Array(authority.rootPEM.utf8))
        $0.pins = [policy]
      }
    }
    let spare = "sha256/" + String(repeating: "B", count: 43) + "="
    let pin = try certificate.pin.description
    try await expectAnswer(try transport(server.baseURL, try pinned([pin, spare])))
    let error = try await failure(
      try transport(server.baseURL, try pinned([spare, "sha256/" + String(repeating: "A", count: 43) + "="])))
    let cause = try #require((error.cause as? LastroCallFailure)?.error as? HTTPFetchError<any Error>)
    #expect(error.code == .unavailable && cause.code == .pinMismatch && cause.trustFailure != nil)
    #expect(server.requests.count == 1)
  }

  @Test("Calls go through a proxy", arguments: EchoPeer.allCases)
  func proxy(peer: EchoPeer) async throws {
    let proxy = try LoopbackServer.socks5()
    try await peer.serve { port in
      let stack = try stack { $0.connection.proxy = .url("socks5h://127.0.0.1:\(proxy.port)") }
      try await withEcho(try transport("http://echo.example:\(port)", stack)) { client in
        let answer = try await client.unary([1]).message
        #expect(answer == [1])
      }
    }
    #expect(proxy.acceptedConnections == 1)
  }

  @Test("Calls go through a chain of tunnels", arguments: EchoPeer.allCases)
  func chain(peer: EchoPeer) async throws {
    let (first, second) = (try LoopbackServer.socks5(), try LoopbackServer.tunnel())
    try await peer.serve { port in
      let engine = try stack()
      let outer = try Tunnel.socks5(host: "127.0.0.1", port: first.port, over: engine.dialer)
      let chain = try Tunnel.httpConnect(host: "127.0.0.1", port: second.port, over: outer)
      var configuration = DialerTransport.Configuration()
      var connection = ConnectionOptions()
      connection.httpVersion = .http2
      connection.proxy = .none
      configuration.connection = connection
      let stack = TransportNetworkStack(transport: try DialerTransport(over: chain, configuration: configuration))
      let transport = try LastroGRPCTransport("http://echo.example:\(port)", over: stack)
      try await withEcho(transport) { client in
        let received = try await client.chat {
          try await $0.write([1, 2])
        } _: { messages in
          try await messages.reduce(into: [UInt8]()) { $0 += $1 }
        }
        #expect(received == [1, 2])
      }
    }
    #expect(first.acceptedConnections == 1 && second.acceptedConnections == 1)
  }

  @Test("A breaker opens after failed calls, and refuses the next one unsent")
  func breaker() async throws {
    let server = try LoopbackServer.http2 { _ in LoopbackResponse(status: 503) }
    var configuration = StackConfiguration()
    configuration.resilience = Resilience(breaker: try CircuitBreaker(minimumCalls: 4, failureRatio: 0.5))
    let stack = try stack(configuration)
    for _ in 0..<4 { #expect(try await failure(try transport(server.baseURL, stack)).code == .unavailable) }
    let error = try await failure(try transport(server.baseURL, stack))
    #expect(error.code == .unavailable && server.requests.count == 4)
    let cause = try #require((error.cause as? LastroCallFailure)?.error as? HTTPFetchError<any Error>)
    #expect(cause.code == .circuitOpen)
  }

  @Test("A stack that compresses requests sends calls as they are", arguments: EchoPeer.allCases)
  func compressing(peer: EchoPeer) async throws {
    var configuration = StackConfiguration()
    configuration.interceptors = [.compressing()]
    let stack = try stack(configuration)
    try await peer.serve { port in
      try await withEcho(try transport("http://127.0.0.1:\(port)", stack)) { client in
        let message = [UInt8](repeating: 7, count: 5_000)
        let answer = try await client.unary(message).message
        #expect(answer == message)
      }
    }
  }

  @Test("The servers of a set of endpoints are called")
  func endpoints() async throws {
    let servers = try (0..<2).map { _ in try LoopbackServer.http2 { _ in Self.answer } }
    let set = try EndpointSet(servers.map(\.baseURL))
    var configuration = StackConfiguration()
    configuration.resilience = Resilience(endpoints: set)
    let stack = try stack(configuration)
    for _ in 0..<20 {
      try await set.withEndpoint { origin in try await expectAnswer(try transport("\(origin)", stack)) }
    }
    #expect(servers.map(\.requests.count).reduce(0, +) == 20)
  }

  @Test("The deadline of a call covers the wait for a connection")
  func deadline() async throws {
    let server = try LoopbackServer { $0.stall() }
    var options = CallOptions.defaults
    options.timeout = .milliseconds(300)
    let call = options
    try await withEcho(try transport(server.baseURL, try stack())) { client in
      let error = await #expect(throws: RPCError.self) { try await client.unary([1], options: call).message }
      #expect(error?.code == .deadlineExceeded)
    }
  }

  @Test("A server that cannot be reached is unavailable, with the ledger as the cause")
  func unreachable() async throws {
    let server = try LoopbackServer.http2 { _ in Self.answer }
    let url = server.baseURL
    server.stop()
    let error = try await failure(try transport(url, try stack()))
    #expect(error.code == .unavailable && error.message.hasPrefix("connect/connect_failed"))
    #expect(error.ledger?.attempts.count == 1 && error.ledger?.request == "POST \(url)/lastro.Echo/Unary")
  }
}
