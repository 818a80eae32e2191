// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import LastroSupport
import LastroTesting
import TestSupport
import Testing

@testable import Lastro
@testable import LastroHTTP

/// A stream that counts its reads and writes.
private final class CountingStream: ByteStream {
  struct Count {
    var reads = 0
    var mostReads = 0
    var longestRead = 0
    var writes = 0
    var mostWrites = 0
  }

  private let base: MemoryStream
  private let shared = Lock(Count())

  init(_ base: MemoryStream) { self.base = base }

  var count: Count { shared.withLock { $0 } }
  var facts: StreamFacts { base.facts }

  func read(upTo maximum: Int, within limit: Duration?) async throws(TransportError) -> Data? {
    shared.withLock { count in
      count.reads += 1
      count.mostReads = max(count.mostReads, count.reads)
      count.longestRead = max(count.longestRead, maximum)
    }
    defer { shared.withLock { $0.reads -= 1 } }
    return try await base.read(upTo: maximum, within: limit)
  }

  func write(_ data: Data, within limit: Duration?) async throws(TransportError) {
    shared.withLock { count in
      count.writes += 1
      count.mostWrites = max(count.mostWrites, count.writes)
    }
    defer { shared.withLock { $0.writes -= 1 } }
    try await base.write(data, within: limit)
  }

  func finishWriting(within limit: Duration?) async throws(TransportError) {
    try await base.finishWriting(within: limit)
  }

  func close() { base.close() }
}

/// A stream whose reader does not learn of the end before the stream is closed.
private final class HeldEndStream: LoopStream {
  let runsOnLoops = false
  private let base: MemoryStream
  private let state = Watched((hasEnded: false, isClosed: false))

  /// Whether a write, too, does not return before the stream is closed.
  private let holdsWrites: Bool

  init(_ base: MemoryStream, holdsWrites: Bool) {
    self.base = base
    self.holdsWrites = holdsWrites
  }

  var facts: StreamFacts { base.facts }
  var hasEnded: Bool { state.read { $0.hasEnded } }

  func hasEnded(on loop: AnyObject?) -> Bool { hasEnded }

  func read(upTo maximum: Int, within limit: Duration?) async throws(TransportError) -> Data? {
    if let data = try await base.read(upTo: maximum, within: limit) { return data }
    state.change { $0.hasEnded = true }
    _ = await state.wait { $0.isClosed }
    return nil
  }

  func write(_ data: Data, within limit: Duration?) async throws(TransportError) {
    try await base.write(data, within: limit)
    if holdsWrites { _ = await state.wait { $0.isClosed } }
  }

  func finishWriting(within limit: Duration?) async throws(TransportError) {
    try await base.finishWriting(within: limit)
  }

  func close() {
    state.change { $0.isClosed = true }
    base.close()
  }
}

@Suite("Links over streams", .timeLimit(.minutes(15)))
struct StreamLinkTests {
  /// The protocols of a server that ends its stream after one response.
  enum Version: CaseIterable {
    case http1, http2

    var scheme: String { self == .http1 ? "http" : "https" }

    var facts: StreamFacts {
      self == .http1
        ? StreamFacts()
        : StreamFacts(tls: .init(version: "TLSv1.3", applicationProtocol: "h2"), trust: .validated)
    }

    /// Reads one request, responds, and ends the direction to the client. Returns whether another request follows.
    func serve(_ far: FarEnd) async throws -> Bool {
      switch self {
      case .http1:
        _ = try await far.readHead()
        try await far.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine")
        try await far.stream.finishWriting(within: nil)
        return try await !far.readHead().isEmpty
      case .http2:
        _ = try await far.read(24)
        _ = try await Self.readHeaders(far)
        let answer: [LoopbackHTTP2Frame] = [
          .settings([]), .head(200, stream: 1), .data("fine".utf8, stream: 1, ends: true),
        ]
        try await far.stream.write(Data(answer.flatMap(\.bytes)), within: nil)
        try await far.stream.finishWriting(within: nil)
        return try await Self.readHeaders(far)
      }
    }

    /// Reads frames up to HEADERS. Returns false if there is none.
    private static func readHeaders(_ far: FarEnd) async throws -> Bool {
      while case let header = try await far.read(9), header.count == 9 {
        _ = try await far.read(Int(LoopbackHTTP2Frame.number(header.prefix(3))))
        if header[3] == LoopbackHTTP2Frame.Kind.headers.rawValue { return true }
      }
      return false
    }
  }

  @Test(
    "No request is sent on a stream that has ended, although its tasks have not resumed",
    arguments: [(Version.http1, false), (.http1, true), (.http2, false)])
  func heldEnd(version: Version, holdsWrites: Bool) async throws {
    let streams = Lock([HeldEndStream]())
    let later = EventRecorder<Bool>()
    let server = MemoryServer(facts: version.facts) { far, _ in later.record(try await version.serve(far)) }
    let transport = try DialerTransport(
      over: WrappingDialer(below: server.dialer) { stream in
        let held = HeldEndStream(stream, holdsWrites: holdsWrites)
        streams.withLock { $0.append(held) }
        return held
      })
    for number in 1...3 {
      let answer = try await transport.execute(.to("/", .post, scheme: version.scheme) { $0.allowsResend = false })
      #expect(answer.body.bytes.map { String(decoding: $0, as: UTF8.self) } == "fine")
      #expect(await eventually { streams.withLock { $0.count == number && $0.last?.hasEnded == true } })
    }
    try await later.waitForEvents(count: 2)
    #expect(!later.events.contains(true), "a request followed the end")
  }

  private static let head = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"

  @Test("At most one read and one write are pending, and no read asks for more than the free space")
  func demand() async throws {
    let streams = Lock([CountingStream]())
    let server = MemoryServer { far, _ in
      while case let head = try await far.readHead(), !head.isEmpty {
        let body = String(repeating: "x", count: 300_000)
        try await far.write("HTTP/1.1 200 OK\r\nContent-Length: \(body.count)\r\n\r\n\(body)")
      }
    }
    let transport = try DialerTransport(
      over: WrappingDialer(below: server.dialer) { stream in
        let counting = CountingStream(stream)
        streams.withLock { $0.append(counting) }
        return counting
      })
    for _ in 0..<3 {
      let answer = try await transport.execute(.to())
      #expect(answer.body.bytes?.count == 300_000)
    }
    let counts = streams.withLock { $0.map(\.count) }
    #expect(counts.count == 1)
    for count in counts {
      #expect(count.mostReads == 1 && count.mostWrites == 1 && count.longestRead == 64 * 1024)
    }
  }

  @Test("Nothing is read while the reader of a body is slow")
  func slowReader() async throws {
    let piece = [UInt8](repeating: 7, count: 64 << 10)
    let sent = Lock(0)
    let server = MemoryServer(.init(capacity: piece.count)) { far, _ in
      _ = try await far.readHead()
      try await far.write("HTTP/1.1 200 OK\r\nContent-Length: \(16 << 20)\r\n\r\n")
      for _ in 0..<256 {
        try await far.write(piece)
        sent.withLock { $0 += piece.count }
      }
      _ = try await far.readHead()
    }
    let transport = try server.transport { $0.streamBufferBytes = 4 * piece.count }
    let answer = try await transport.execute(.to { $0.delivery = .streamed(maximumBytes: nil) })
    // The loop runs until the buffer is full.
    while sent.withLock({ $0 }) < 4 * piece.count { await Task.yield() }
    for _ in 0..<1_000 { await Task.yield() }
    // The bound covers the buffer, one read, the stream, and the piece that its writer holds.
    #expect(sent.withLock { $0 } <= 7 * piece.count)
    #expect(try await answer.body.collect(upTo: .max).count == 16 << 20)
  }

  @Test(
    "A write that fails after the last byte was accepted ends the request",
    arguments: [ConnectionOptions.HTTPVersion.http1, .http2])
  func lostBytes(version: ConnectionOptions.HTTPVersion) async throws {
    // The far end neither responds nor closes, so that only the failed write shows that no response will come.
    let (near, far) = MemoryStream.pair()
    defer { withExtendedLifetime(far) {} }
    let stream = ToldStream(near)
    stream.isBroken.withLock { $0 = true }
    var configuration = DialerTransport.Configuration()
    configuration.connection = ConnectionOptions()
    configuration.connection?.httpVersion = version
    let transport = try DialerTransport(over: GivenStreamDialer(stream), configuration: configuration)
    let error = await failure { () async throws(TransportError) in try await transport.execute(.to()) }
    #expect(error?.code == .connectionLost)
    await transport.shutDown(cancelling: true)
  }

  @Test("Bytes of the new protocol are handed over with the stream, wherever the head was split")
  func handOver() async throws {
    let early = "hello"
    let bytes = Array((Self.head + early).utf8)
    for cut in 1...bytes.count {
      let server = MemoryServer { far, _ in
        _ = try await far.readHead()
        try await far.write(Array(bytes[..<cut]))
        await Task.yield()
        if cut < bytes.count { try await far.write(Array(bytes[cut...])) }
        _ = try await far.readToEnd()
      }
      let transport = try server.transport()
      let answer = try await transport.execute(.to(fields: [.upgrade: "x", .connection: "upgrade"]))
      #expect(answer.head.status == .switchingProtocols)
      let stream = try #require(answer.body.upgraded, "cut at \(cut)")
      #expect(try await stream.bytes(exactly: early.utf8.count) == Data(early.utf8))
      stream.close()
    }
  }
}

/// A dialer that wraps streams in memory.
private struct WrappingDialer: Dialer {
  let below: MemoryDialer
  let wrap: @Sendable (MemoryStream) -> any ByteStream

  func dial(_ request: DialRequest) async throws(TransportError) -> any ByteStream {
    let stream = try await below.dial(request)
    return (stream as? MemoryStream).map(wrap) ?? stream
  }
}
