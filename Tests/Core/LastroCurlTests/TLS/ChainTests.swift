// SPDX-License-Identifier: Apache-2.0

import CurlSupport
import Foundation
import HTTPTypes
import LastroTesting
import LastroTunnels
import TestSupport
import Testing

@testable import Lastro
@testable import LastroCurl
@testable import LastroHTTP

/// Returns a SOCKS 5 proxy for one name. It answers as RFC 1928 requires, and connects to a port of this machine.
private func socks(to port: Int, over base: CurlTransport) -> MemoryDialer {
  MemoryDialer { _, stream in
    let far = FarEnd(stream)
    _ = try await far.read(3)
    try await far.write([5, 0])
    let head = try await far.read(5)
    _ = try await far.read(Int(head[4]) + 2)
    try await far.write([5, 0, 0, 1, 0, 0, 0, 0, 0, 0])
    let server = try await base.dial(DialRequest(host: "127.0.0.1", port: port))
    await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        while let bytes = try await stream.read() { try await server.write(bytes) }
        server.close()
      }
      group.addTask {
        while let bytes = try await server.read() { try await stream.write(bytes) }
        stream.close()
      }
      while await group.nextResult() != nil {}
    }
  }
}

@Suite("Dialer transport, through chains", .timeLimit(.minutes(15)))
struct ChainTests {
  private let authority: TestAuthority

  init() throws { authority = try TestAuthority() }

  @Test("HTTP/1.1 and HTTP/2 pass through SOCKS 5, CONNECT and TLS", arguments: ["h2", "http/1.1"])
  func chains(version: String) async throws {
    var tls = try authority.tls("far.example")
    tls.applicationProtocols = [version]
    let server = try LoopbackServer.http2(tls: tls) { LoopbackResponse(body: $0.body) }
    let tunnel = try LoopbackServer.tunnel()
    let first = try SOCKS5Dialer(
      proxy: try ProxyServer(host: "socks.example", port: 1080), over: socks(to: tunnel.port, over: authority.base))
    let second = try HTTPConnectDialer(proxy: try ProxyServer(host: "proxy.example", port: 3128), over: first)
    let dialer = TLSDialer(over: second, connection: authority.options())
    let stack = TransportNetworkStack(transport: try DialerTransport(over: dialer), configuration: .patient)
    let bytes = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })
    for number in 0..<3 {
      let request = try ResourceRequest(
        method: .post, url: "https://far.example:\(server.port)/\(number)",
        body: RequestBody(source: .bytes(bytes)))
      let answer = try await stack.fetch(RawHTTPResource.raw(request))
      #expect(answer.value == bytes)
      #expect(answer.response.facts.httpVersion == (version == "h2" ? "2" : "1.1"))
      #expect(answer.response.facts.connectionReused == (number > 0))
    }
    #expect(server.acceptedConnections == 1)
    #expect(await eventually { tunnel.requests.map(\.method) == ["CONNECT"] })
  }

  @Test("A dialer without TLS refuses https and names the remedy")
  func noTLS() async throws {
    let dialer = try HTTPConnectDialer(
      proxy: try ProxyServer(host: "proxy.example", port: 3128), over: authority.base)
    let transport = try DialerTransport(over: dialer)
    let error = try await transportError {
      try await transport.execute(.to(scheme: "https", authority: "far.example"))
    }
    #expect(error.code == .unsupported && error.hint != nil)
  }
}
