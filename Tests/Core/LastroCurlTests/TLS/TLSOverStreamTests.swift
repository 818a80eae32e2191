// SPDX-License-Identifier: Apache-2.0

import CurlSupport
import FoundationEssentials
import Lastro
import LastroCurl
import LastroSupport
import LastroTesting
import LastroTunnels
import TestSupport
import Testing

@Suite("TLS over a dialer: bytes", .timeLimit(.minutes(15)))
struct TLSOverStreamTests {
  let lab: TestAuthority

  init() throws { lab = try TestAuthority() }

  @Test("The handshake negotiates TLS and reports its parameters", arguments: [TLSOptions.Version.v1_2, .v1_3])
  func facts(version: TLSOptions.Version) async throws {
    let names = Lock([String?]())
    var tls = try lab.tls()
    (tls.minimumVersion, tls.maximumVersion, tls.applicationProtocols) = (version, version, ["b", "a"])
    let server = try LoopbackServer(tls: tls) { connection in
      names.withLock { $0.append(connection.serverName) }
      try connection.echo()
    }
    let request = server.request(tls: .init(applicationProtocols: ["a", "b"]))
    let stream = try await lab.dialer().dial(request)
    try await stream.expectEcho()
    let facts = try #require(stream.facts.tls)
    #expect(facts.version == (version == .v1_2 ? "TLSv1.2" : "TLSv1.3"))
    #expect(facts.cipher?.hasPrefix(version == .v1_2 ? "ECDHE" : "TLS_") == true)
    #expect(facts.applicationProtocol == "b")
    #expect(try facts.presentedChain.first?.pin.description == TestAuthority.pin(tls.identity))
    #expect(stream.facts.trust == .validated)
    #expect(stream.facts.remotePort == server.port)
    #expect(names.withLock { $0 } == ["localhost"])
  }

  @Test("No protocol is negotiated if the server selects none, and an address is not sent as SNI")
  func noProtocol() async throws {
    let names = Lock([String?]())
    let server = try LoopbackServer(tls: lab.tls()) { connection in
      names.withLock { $0.append(connection.serverName) }
      try connection.echo()
    }
    let stream = try await lab.dialer().dial(server.request("127.0.0.1", tls: .init(applicationProtocols: ["a"])))
    try await stream.expectEcho()
    #expect(stream.facts.tls?.applicationProtocol == nil)
    let named = try await lab.dialer().dial(server.request("127.0.0.1", tls: .init(serverName: "localhost")))
    try await named.expectEcho()
    #expect(names.withLock { $0 } == [nil, "localhost"])
  }

  @Test(
    "Large amounts of data pass in both directions at once, in reads of any size", arguments: [1, 7, 1000, Int.max])
  func duplex(longestRead: Int) async throws {
    let server = try lab.echo()
    let below = MeddlingDialer(below: lab.base, longestRead: longestRead)
    let stream = try await TLSDialer(over: below, connection: lab.options()).dial(server.request())
    try await stream.expectEcho(longestRead < 100 ? 20_000 : 5_000_000)
  }

  @Test("A clean end is distinguished from a cut connection")
  func endings() async throws {
    let clean = try LoopbackServer(tls: lab.tls()) { connection in
      try connection.write("all")
      connection.close()
    }
    let stream = try await lab.dialer().dial(clean.request())
    #expect(try await stream.rest() == Data("all".utf8))
    #expect(try await stream.read() == nil)

    let cut = try LoopbackServer(tls: lab.tls()) { connection in
      try connection.write("part")
      connection.closeWithoutNotify()
    }
    let broken = try await lab.dialer().dial(cut.request())
    #expect(try await broken.bytes(exactly: 4) == Data("part".utf8))
    for _ in 1...2 { #expect(try await transportError { try await broken.read() }.code == .truncatedStream) }
    #expect(try await transportError { try await broken.write(Data([1])) }.code == .truncatedStream)
  }

  @Test("Each direction ends independently")
  func halfClose() async throws {
    let server = try LoopbackServer(tls: lab.tls()) { connection in
      let all = connection.readToEnd()
      try connection.write("got \(all.count)")
      connection.close()
    }
    let stream = try await lab.dialer().dial(server.request())
    try await stream.write(Data(repeating: 7, count: 100_000))
    try await stream.finishWriting()
    try await stream.finishWriting()
    #expect(try await transportError { try await stream.write(Data([1])) }.code == .streamClosed)
    #expect(try await stream.rest() == Data("got 100000".utf8))

    let talker = try LoopbackServer(tls: lab.tls()) { connection in
      try connection.write("bye")
      connection.closeNotify()
      #expect(connection.read(max: 100) == Array("still here".utf8))
      connection.closeWithoutNotify()
    }
    let listener = try await lab.dialer().dial(talker.request())
    #expect(try await listener.rest() == Data("bye".utf8))
    try await listener.write(Data("still here".utf8))
    #expect(try await listener.read() == nil)
  }

  @Test("Closing notifies the peer and ends pending reads and writes")
  func closing() async throws {
    let ends = Lock([Int]())
    let (ended, end) = AsyncStream.makeStream(of: Void.self)
    let server = try LoopbackServer(tls: lab.tls()) { connection in
      defer { end.yield() }
      try connection.write("x")
      ends.withLock { $0.append(connection.readToEnd().count) }
    }
    let stream = try await lab.dialer().dial(server.request())
    #expect(try await stream.bytes(exactly: 1) == Data("x".utf8))
    async let reading = transportError { try await stream.read() }
    await Task.yield()
    stream.close()
    stream.close()
    #expect(try await reading.code == .streamClosed)
    #expect(try await transportError { try await stream.read() }.code == .streamClosed)
    #expect(try await transportError { try await stream.write(Data([1])) }.code == .streamClosed)
    #expect(try await transportError { try await stream.finishWriting() }.code == .streamClosed)
    var connections = ended.makeAsyncIterator()
    await connections.next()
    #expect(ends.withLock { $0 } == [0])

    // A stream that is dropped at once is closed as well.
    do { _ = try await lab.dialer().dial(server.request()) }
    await connections.next()
  }

  @Test("A limit or a cancellation loses no bytes")
  func limits() async throws {
    let gate = try LoopbackGate()
    let server = try LoopbackServer(tls: lab.tls()) { connection in
      for _ in 1...2 {
        connection.wait(for: gate)
        try connection.write("late")
      }
      connection.stall()
    }
    let stream = try await lab.dialer().dial(server.request())
    #expect(try await transportError { try await stream.read(upTo: 9, within: .milliseconds(20)) }.code == .idleTimeout)
    let task = Task { try await stream.read() }
    task.cancel()
    #expect(try await transportError { try await task.value }.code == .cancelled)
    gate.open()
    #expect(try await stream.bytes(exactly: 8) == Data("latelate".utf8))
    #expect(try await transportError { try await stream.read(upTo: 0) }.code == .invalidOption)
  }

  @Test("A second concurrent reader or writer is refused")
  func exclusivity() async throws {
    let server = try LoopbackServer(tls: lab.tls()) { $0.stall() }
    let stream = try await lab.dialer().dial(server.request())
    let reading = try await firstOfTwo { _ = try await stream.read() }
    #expect(reading.first == .operationInProgress)
    let writing = try await firstOfTwo { try await stream.write(Data(repeating: 0, count: 64 << 20)) }
    #expect(writing.first == .operationInProgress)
    stream.close()
    #expect(try await transportError { try await reading.other.value }.code == .streamClosed)
    _ = try await transportError { try await writing.other.value }
  }

  /// Runs the operation twice concurrently, and returns the code of the one that fails first, and the other task.
  private func firstOfTwo(
    _ operation: @escaping @Sendable () async throws -> Void
  ) async throws -> (first: FailureCode?, other: Task<Void, any Error>) {
    let (ends, end) = AsyncStream.makeStream(of: (Int, FailureCode?).self)
    let tasks = (0...1).map { index in
      Task {
        do {
          try await operation()
          end.yield((index, nil))
        } catch {
          end.yield((index, (error as? TransportError)?.code))
          throw error
        }
      }
    }
    for await (index, code) in ends { return (code, tasks[1 - index]) }
    throw CancellationError()
  }

  @Test("A write to a peer that does not read ends at its limit and closes the stream")
  func backPressure() async throws {
    let server = try LoopbackServer(tls: lab.tls()) { $0.stall() }
    let stream = try await lab.dialer().dial(server.request())
    let error = try await transportError {
      try await stream.write(Data(repeating: 0, count: 64 << 20), within: .milliseconds(100))
    }
    #expect(error.code == .idleTimeout)
    #expect(try await transportError { try await stream.write(Data([1])) }.code == .streamClosed)
    #expect(try await transportError { try await stream.read() }.code == .streamClosed)
  }

  @Test("A failed write ends writing only: bytes that the peer sent before can still be read")
  func failedWrite() async throws {
    let server = try LoopbackServer(tls: lab.tls()) { connection in
      _ = try connection.read(exactly: 4)
      try connection.write("answer")
      connection.stall()
    }
    let below = ToldStream(try await lab.base.dial(server.request(tls: nil)))
    let dialer = TLSDialer(over: GivenStreamDialer(below), connection: lab.options())
    let stream = try await dialer.dial(server.request())
    try await stream.write(Data("ping".utf8))
    below.isBroken.withLock { $0 = true }
    for _ in 1...2 {
      #expect(try await transportError { try await stream.write(Data("more".utf8)) }.code == .sendFailed)
    }
    #expect(try await transportError { try await stream.finishWriting() }.code == .sendFailed)
    #expect(try await stream.bytes(exactly: 6) == Data("answer".utf8))
    stream.close()
    #expect(await below.told.contains("close"))
  }

  @Test("A corrupted byte ends the stream", arguments: [3000, 5000, 9000])
  func tampering(position: Int) async throws {
    let server = try LoopbackServer(tls: lab.tls()) { connection in
      try connection.write([UInt8](repeating: 65, count: 100_000))
      _ = connection.readToEnd()
    }
    let below = MeddlingDialer(
      below: lab.base, longestRead: 1000,
      spoil: { before, bytes in
        guard (before..<before + bytes.count).contains(position) else { return bytes }
        var bytes = [UInt8](bytes)
        bytes[position - before] ^= 1
        return Data(bytes)
      })
    let stream = try await TLSDialer(over: below, connection: lab.options()).dial(server.request())
    let received = Lock(0)
    let error = try await transportError {
      while let bytes = try await stream.read() {
        #expect(bytes.allSatisfy { $0 == 65 })
        received.withLock { $0 += bytes.count }
      }
    }
    #expect(error.code == .protocolViolation)
    #expect(received.withLock { $0 } < position)
    #expect(try await transportError { try await stream.read() }.code == .protocolViolation)
    #expect(try await transportError { try await stream.write(Data([1])) }.code == .protocolViolation)
  }

  @Test("TLS runs inside TLS inside TLS")
  func nested() async throws {
    let server = try lab.echo()
    let inner = try LoopbackServer.tunnel(tls: lab.tls())
    let outer = try LoopbackServer.tunnel(tls: lab.tls())
    var dialer: any Dialer = lab.dialer()
    for proxy in [outer, inner] {
      let transport = try HTTPConnectDialer(
        proxy: ProxyServer(host: "localhost", port: proxy.port), tls: .init(), over: dialer)
      dialer = TLSDialer(over: transport, connection: lab.options())
    }
    let stream = try await dialer.dial(server.request())
    try await stream.expectEcho(300_000)
    #expect(stream.facts.remotePort == outer.port)
    #expect(outer.requests.map(\.target) == ["localhost:\(inner.port)"])
    #expect(inner.requests.map(\.target) == ["localhost:\(server.port)"])
    try await stream.finishWriting()
    #expect(try await stream.read() == nil)
  }
}

/// A dialer whose streams have short reads, and that may alter the received bytes.
private struct MeddlingDialer: Dialer {
  let below: any Dialer
  var longestRead: Int
  /// A closure that alters received bytes. It gets the number of earlier bytes, and the bytes.
  var spoil: @Sendable (Int, Data) -> Data?

  init(
    below: any Dialer, longestRead: Int = .max, spoil: @escaping @Sendable (Int, Data) -> Data? = { $1 }
  ) {
    self.below = below
    self.longestRead = longestRead
    self.spoil = spoil
  }

  func dial(_ request: DialRequest) async throws(TransportError) -> any ByteStream {
    Meddled(below: try await below.dial(request), dialer: self)
  }

  func checkPlaintext(_ request: DialRequest) throws(TransportError) { try below.checkPlaintext(request) }

  private final class Meddled: ByteStream {
    private let below: any ByteStream
    private let dialer: MeddlingDialer
    private let count = Lock(0)

    init(below: any ByteStream, dialer: MeddlingDialer) {
      self.below = below
      self.dialer = dialer
    }

    var facts: StreamFacts { below.facts }

    func read(upTo maximum: Int, within limit: Duration?) async throws(TransportError) -> Data? {
      guard let bytes = try await below.read(upTo: min(maximum, dialer.longestRead), within: limit) else { return nil }
      let before = count.withLock { count in
        defer { count += bytes.count }
        return count
      }
      return dialer.spoil(before, bytes)
    }

    func write(_ data: Data, within limit: Duration?) async throws(TransportError) {
      try await below.write(data, within: limit)
    }

    func finishWriting(within limit: Duration?) async throws(TransportError) {
      try await below.finishWriting(within: limit)
    }

    func close() { below.close() }
  }
}
