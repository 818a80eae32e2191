// SPDX-License-Identifier: Apache-2.0

import CurlSupport
import FoundationEssentials
import Lastro
import LastroCurl
import LastroStreamsTesting
import LastroSupport
import LastroTesting
import LastroTunnels
import TestSupport
import Testing

@Suite("Nested tunnels: leaks", .timeLimit(.minutes(15)))
struct NestedLeakTests {
  @Test("TLS over meek over TLS leaves no stream and no descriptor behind, however it ends", .ownThread)
  func nothingIsLeft() async {
    await #expect(processExitsWith: .success) {
      // The first round loads everything that is loaded only once.
      try await NestedRound.play()
      let before = NestedRound.descriptors
      for _ in 0..<4 { try await NestedRound.play() }
      #expect(await eventually { NestedRound.descriptors < before + 4 })
    }
  }
}

/// A round of every kind of end, with an engine of its own.
private enum NestedRound {
  static func play() async throws {
    let lab = try TestAuthority()
    let server = try lab.echo()
    let peer = try LoopbackMeekServer(tls: lab.tls(), target: .port(server.port))
    let meek = try MeekServer(#require(URL(string: peer.server.baseURL)))
    let inner = CountedDialer(below: MeekDialer(meek, over: lab.dialer()))
    let outer = CountedDialer(below: TLSDialer(over: inner, connection: lab.options()))
    for end in Self.ends { try await use(outer.dial(server.request()), end) }
    let stranger = TLSDialer(over: inner)
    _ = try await transportError { try await stranger.dial(server.request()) }
    #expect(await eventually { outer.alive == 0 && inner.alive == 0 })
    #expect(await eventually { peer.server.openConnections == 0 })
  }

  private static let ends: [@Sendable (any ByteStream) async throws -> Void] = [
    { $0.close() },
    { _ in },
    { stream in
      try await stream.finishWriting()
      #expect(try await stream.read() == nil)
    },
    { stream in
      let reading = Task { try await stream.read() }
      reading.cancel()
      _ = await reading.result
    },
    { stream in
      try await stream.write(Data(repeating: 1, count: 50_000))
      stream.close()
    },
  ]

  private static func use(
    _ stream: any ByteStream, _ end: @Sendable (any ByteStream) async throws -> Void
  ) async throws {
    try await stream.expectEcho()
    try await end(stream)
  }

  static var descriptors: Int { (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? 0 }
}

/// A dialer that counts its streams that are still alive.
private final class CountedDialer: Dialer {
  private struct Weak: Sendable { weak var stream: (any ByteStream)? }

  private let below: any Dialer
  private let streams = Lock([Weak]())

  init(below: any Dialer) { self.below = below }

  var alive: Int { streams.withLock { $0.count { $0.stream != nil } } }

  func dial(_ request: DialRequest) async throws(TransportError) -> any ByteStream {
    let stream = try await below.dial(request)
    streams.withLock { $0.append(Weak(stream: stream)) }
    return stream
  }

  func checkPlaintext(_ request: DialRequest) throws(TransportError) { try below.checkPlaintext(request) }
}
