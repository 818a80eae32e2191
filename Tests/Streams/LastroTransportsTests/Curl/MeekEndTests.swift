// SPDX-License-Identifier: Apache-2.0

import CurlSupport
import FoundationEssentials
import Lastro
import LastroCurl
import LastroStreamsTesting
import LastroSupport
import LastroTesting
import LastroTransports
import LastroTunnels
import TestSupport
import Testing

@Suite("meek as a tunnel: delivery of written data", .timeLimit(.minutes(15)))
struct MeekEndTests {
  let lab: TestAuthority

  init() throws { lab = try TestAuthority() }

  private static let anywhere = DialRequest(host: "target.test", port: 1, connectTimeout: nil)

  private func url(_ server: LoopbackMeekServer) throws -> URL { try #require(URL(string: server.server.baseURL)) }

  /// Returns a dialer through our stack, and one over streams.
  private func dialers(_ peer: LoopbackMeekServer, _ time: TimeSource = .endless()) throws -> [any Dialer] {
    var configuration = CurlConfiguration()
    configuration.connection = lab.options()
    let server = try MeekServer(url(peer))
    return [
      MeekDialer(server, through: try CurlNetworkStack(configuration), time: time),
      MeekDialer(server, over: lab.dialer(), time: time),
    ]
  }

  @Test("Bytes written before closing still reach the server, in order")
  func closing() async throws {
    let peer = try LoopbackMeekServer()
    for dialer in try dialers(peer) {
      let before = peer.server.requests.count
      let sent = Data((0..<120_000).map { UInt8(truncatingIfNeeded: $0 >> 6) })
      let stream = try await dialer.dial(Self.anywhere)
      try await stream.write(sent)
      stream.close()
      let received = { peer.server.requests.dropFirst(before).map(\.body).joined() }
      #expect(await eventually { received().count == sent.count })
      #expect(received().elementsEqual(sent))
    }
  }

  @Test("finishWriting waits until the server has all bytes; reading continues and writing does not")
  func finishing() async throws {
    let peer = try LoopbackMeekServer()
    for dialer in try dialers(peer) {
      let before = peer.server.requests.count
      let stream = try await dialer.dial(Self.anywhere)
      try await stream.write(Data(repeating: 7, count: 120_000))
      try await stream.finishWriting()
      try await stream.finishWriting()
      #expect(peer.server.requests.dropFirst(before).reduce(0) { $0 + $1.body.count } == 120_000)
      #expect(try await transportError { try await stream.write(Data([1])) }.code == .streamClosed)
      #expect(try await stream.bytes(exactly: 120_000) == Data(repeating: 7, count: 120_000))
      stream.close()
      #expect(try await transportError { try await stream.finishWriting() }.code == .streamClosed)
    }
  }

  @Test("A server that accepts nothing delays neither a closed session nor the end of a direction")
  func farewell() async throws {
    let peer = try LoopbackMeekServer { _, request in request.body.isEmpty ? nil : .fault(.stall) }
    let seen = peer.server.requests.count
    for (index, dialer) in try dialers(peer, .endless(but: .seconds(5))).enumerated() {
      let stream = try await dialer.dial(Self.anywhere)
      try await stream.write(Data("never taken".utf8))
      #expect(await eventually { peer.server.requests.dropFirst(seen).count { !$0.body.isEmpty } == index + 1 })
      let limited = try await transportError { try await stream.finishWriting(within: .seconds(5)) }
      #expect(limited.code == .idleTimeout)
      stream.close()
      #expect(await eventually { peer.server.openConnections == 0 })
    }
  }

  @Test("A final message over meek carries its request, and the response arrives")
  func finalMessage() async throws {
    let peer = try LoopbackMeekServer()
    let factory = try MeekConnectionFactory(to: url(peer), serverURL: url(peer))
    let stream = try await ConnectionFactoryDialer(factory).dial(Self.anywhere)
    try await stream.write(Data("request".utf8))
    try await stream.finishWriting()
    #expect(try await stream.bytes(exactly: 7) == Data("request".utf8))
    #expect(peer.server.requests.reduce(into: []) { $0 += $1.body } == Array("request".utf8))
  }

  @Test("TLS over meek notifies its server of the end")
  func closeNotify() async throws {
    let received = Lock([Int]())
    let server = try LoopbackServer(tls: lab.tls()) { connection in
      let count = connection.readToEnd().count
      received.withLock { $0.append(count) }
    }
    // The peer does not close its connection to the server, so only TLS reports the end.
    let peer = try LoopbackMeekServer(target: .port(server.port))
    // Responses that take longer than the peer waits for them are requested again.
    for (index, below) in try dialers(peer, .continuous).enumerated() {
      let stream = try await TLSDialer(over: below, connection: lab.options()).dial(server.request())
      try await stream.write(Data(repeating: 1, count: 100_000))
      stream.close()
      #expect(await eventually { received.withLock { $0.count } == index + 1 })
      #expect(received.withLock { $0.last } == 100_000)
    }
  }

  @Test("An unused connection is closed while the dialer lives")
  func idleConnection() async throws {
    let peer = try LoopbackMeekServer()
    let dialer = MeekDialer(try MeekServer(url(peer)), over: lab.base)
    let stream = try await dialer.dial(Self.anywhere)
    stream.close()
    #expect(await eventually { peer.server.openConnections == 0 })
    // The next stream dials another connection.
    try await dialer.dial(Self.anywhere).expectEcho()
  }
}
