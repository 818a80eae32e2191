// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro
import LastroCurl
import LastroHTTP
import LastroTesting
import LastroTunnels
import TestSupport
import Testing

/// Responses that begin before the request's body is complete (RFC 9110 §10.1.1, RFC 9113 §8.1).
@Suite("Faults: early responses", .replayed, .timeLimit(.minutes(15)))
struct EarlyResponseTests {
  /// The connections that carry HTTP: the engine's, a dialer's, or TLS in a tunnel.
  enum Shell: String, CaseIterable, Sendable {
    case engine, dialer, socks5, connect
  }

  /// A transport, and the proxy that its connections use.
  private struct Way {
    let transport: any LinkedEngine
    /// The server's TLS options; `nil` for plaintext.
    var tls: LoopbackTLS?
    /// The proxy. It stops when it is released.
    var proxy: LoopbackServer?
  }

  private func way(_ shell: Shell, _ version: EarlyResponse.Version) throws -> Way {
    var options = ConnectionOptions()
    options.proxy = .none
    options.httpVersion = version == .http1 ? .http1 : .http2
    let engine = try CurlTransport.with { $0.connection = options }
    if shell == .engine { return Way(transport: engine) }
    let base = engine
    var configuration = DialerTransport.Configuration()
    configuration.connection = options
    if shell == .dialer { return Way(transport: try DialerTransport(over: base, configuration: configuration)) }
    let proxy = shell == .socks5 ? try LoopbackServer.socks5() : try LoopbackServer.tunnel()
    let address = try ProxyServer(host: "127.0.0.1", port: proxy.port)
    let tunnel: any Dialer =
      shell == .socks5
      ? try SOCKS5Dialer(proxy: address, over: base) : try HTTPConnectDialer(proxy: address, over: base)
    let authority = try CertificateAuthority()
    options.tls.roots = .pem(Array(authority.rootPEM.utf8))
    configuration.connection = options
    var tls = LoopbackTLS(try authority.issue(hosts: ["localhost"]))
    tls.applicationProtocols = [version == .http1 ? "http/1.1" : "h2"]
    let transport = try DialerTransport(
      over: TLSDialer(over: tunnel, connection: options), configuration: configuration)
    return Way(transport: transport, tls: tls, proxy: proxy)
  }

  private func ask(
    _ transport: any Transport, _ server: LoopbackServer, _ path: String, body: RequestBody = .empty
  ) async -> Outcome {
    var request = TransferRequest.to(server, path, method: body.isEmpty ? .get : .post)
    request.body = body
    request.deadline = .seconds(200)
    do throws(TransportError) {
      let response = try await transport.execute(request)
      let text = String(decoding: try await response.body.collect(upTo: 1_000), as: UTF8.self)
      return .answered(response.head.status.code, text)
    } catch {
      return .failed(error.words)
    }
  }

  @Test("The table has a row for every line, and every status class in both versions")
  func table() {
    #expect(EarlyResponse.rows.count == EarlyResponse.table.split(separator: "\n").count - 1)
    for version in [EarlyResponse.Version.http1, .http2] {
      #expect(Set(EarlyResponse.rows.filter { $0.version == version }.map { $0.status / 100 }) == [2, 3, 4, 5])
    }
  }

  /// The combinations of every row with every shell.
  private static let runs = EarlyResponse.rows.flatMap { row in Shell.allCases.map { (row, $0) } }

  @Test(
    "Below 300 the rest of the body is sent, from 300 on it is not; the response counts either way",
    arguments: runs)
  private func early(_ row: EarlyResponse, _ shell: Shell) async throws {
    let (answered, received) = (EventRecorder<Int>(), EventRecorder<Int>())
    let way = try way(shell, row.version)
    let transport = way.transport.recorded
    let server = try row.server(answered: answered, received: received, tls: way.tls)
    defer { withExtendedLifetime(way) {} }
    // The second part of the body follows the response. It is never sent if the response refuses the body.
    let (source, continuation) = AsyncStream<Data>.makeStream()
    defer { continuation.finish() }
    continuation.yield(Data(repeating: 1, count: EarlyResponse.firstBytes))
    let feeding = Task {
      try await answered.waitForEvents(count: 1)
      guard row.rest == .sent else { return }
      continuation.yield(Data(repeating: 2, count: EarlyResponse.allBytes - EarlyResponse.firstBytes))
      continuation.finish()
    }
    // Over HTTP/1.1 a request without a length is chunked and has `Expect: 100-continue`.
    let length = row.version == .http1 && row.marks.contains(.expect) ? nil : Int64(EarlyResponse.allBytes)
    let outcome = await ask(transport, server, "/early", body: .stream(source, length: length))
    #expect(outcome == .answered(row.status, row.expectedText))
    try await feeding.value
    #expect(await ask(transport, server, "/ok") == .answered(200, "fine"))
    #expect(server.acceptedConnections == (row.next == .same ? 1 : 2))
    #expect(server.requests.map(\.path) == ["/early", "/ok"], "nothing is sent twice")
    let asked = server.requests.first?.head["Expect"] != nil
    #expect(asked == row.marks.contains(.expect))
    let count = try #require(try await received.waitForEvents(count: 1).first)
    switch row.rest {
    case .sent: #expect(count == EarlyResponse.allBytes)
    case .stopped:
      // The margin allows for the framing of chunks.
      #expect(count <= EarlyResponse.firstBytes + 64)
      if asked, row.arrival == .before { #expect(count == 0) }
    }
  }

  @Test(
    "A server that responds and then accepts none of the body for a second has refused it", arguments: Shell.allCases)
  private func stalled(_ shell: Shell) async throws {
    let way = try way(shell, .http1)
    let transport = way.transport.recorded
    let server = try LoopbackServer(tls: way.tls) { connection in
      guard let head = try connection.readHead() else { return }
      guard head.path == "/early" else {
        return try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine")
      }
      try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nearly")
      connection.stall()
    }
    defer { withExtendedLifetime(way) {} }
    // The body exceeds the buffers of a connection.
    let body = RequestBody.raw(Data(repeating: 1, count: 32 << 20))
    #expect(await ask(transport, server, "/early", body: body) == .answered(200, "early"))
    #expect(await ask(transport, server, "/ok") == .answered(200, "fine"))
    #expect(server.acceptedConnections == 2)
  }
}
