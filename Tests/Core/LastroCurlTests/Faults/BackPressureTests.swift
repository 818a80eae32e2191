// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro
import LastroHTTP
import LastroTesting
import Synchronization
import TestSupport
import Testing

@testable import LastroCurl

/// A slow side holds up the other side, and memory stays bounded.
@Suite("Faults: back-pressure", .overEachLink, .timeLimit(.minutes(15)))
struct BackPressureTests {
  private static let piece = 64 << 10
  private static let pieces = 1024
  private static var total: Int { piece * pieces }

  /// Returns piece `number`, which differs from its neighbours.
  private static func bytes(_ number: Int) -> [UInt8] {
    var bytes = [UInt8](repeating: UInt8(truncatingIfNeeded: number &* 31), count: piece)
    bytes[0] = UInt8(truncatingIfNeeded: number >> 8)
    return bytes
  }

  private static let digest: UInt64 = {
    var hash = FNV()
    for number in 0..<pieces { hash.add(bytes(number)) }
    return hash.value
  }()

  /// An FNV-1a hash over words, which checks order and content of a long body cheaply.
  private struct FNV {
    private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325
    private var word: UInt64 = 0
    private var filled = 0

    mutating func add(_ bytes: some Sequence<UInt8> & ContiguousBytes) {
      bytes.withUnsafeBytes { bytes in
        for byte in bytes {
          word = word << 8 | UInt64(byte)
          filled += 1
          guard filled == 8 else { continue }
          value = (value ^ word) &* 0x100_0000_01B3
          filled = 0
        }
      }
    }
  }

  private final class Progress: Sendable {
    let count = Atomic<Int>(0)

    func add(_ bytes: Int) { count.add(bytes, ordering: .relaxed) }
    var value: Int { count.load(ordering: .relaxed) }

    /// Waits until the value has grown and has then stopped changing, and returns it.
    func settles() async -> Int {
      _ = await eventually { value > 0 }
      return await valueAtRest { value }
    }
  }

  private static func flooding(_ progress: Progress, announcesLength: Bool = true) throws -> LoopbackServer {
    try LoopbackServer { connection in
      _ = try connection.readHead()
      let length = announcesLength ? "Content-Length: \(total)\r\n" : ""
      try connection.write("HTTP/1.1 200 OK\r\n\(length)\r\n")
      for number in 0..<pieces {
        try connection.write(bytes(number))
        progress.add(piece)
      }
    }
  }

  @Test("A reader that pauses stops the server, and then gets every byte")
  func slowReader() async throws {
    let progress = Progress()
    let server = try Self.flooding(progress)
    let engine = try LinkKind.current.engine()
    let response = try await engine.execute(.to(server) { $0.delivery = .streamed(maximumBytes: nil) })
    var hash = FNV()
    var count = 0
    var largest = 0
    var stops = 0
    for try await chunk in response.body {
      if count >= stops * (Self.total / 4) {
        stops += 1
        let written = await progress.settles()
        // The difference is in the buffers of the sockets and of the engine. The kernel grows socket buffers up to some
        // MiB.
        #expect(written < Self.total)
        #expect(written - count < 24 << 20)
      }
      count += chunk.count
      largest = max(largest, chunk.count)
      hash.add(chunk)
    }
    #expect(count == Self.total)
    #expect(hash.value == Self.digest)
    #expect(largest <= 512 << 10)
    #expect(server.requests.count == 1)
    #expect(await eventually { engine.activeTransfers == 0 })
  }

  @Test("Leaving the loop early closes the connection and frees the server")
  func leavingEarly() async throws {
    let progress = Progress()
    let server = try Self.flooding(progress)
    let engine = try LinkKind.current.engine()
    do {
      let response = try await engine.execute(.to(server) { $0.delivery = .streamed(maximumBytes: nil) })
      for try await _ in response.body { break }
    }
    #expect(await eventually { engine.activeTransfers == 0 && server.openConnections == 0 })
    #expect(progress.value < Self.total)
  }

  @Test("A waiting reader gets the bytes before a failure, even if both arrive together")
  func failureAtOnce() async throws {
    let gate = try LoopbackGate()
    let server = try LoopbackServer { connection in
      _ = try connection.readHead()
      try connection.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
      connection.wait(for: gate)
      try connection.write("4\r\nlast\r\nno size\r\n")
    }
    let response = try await LinkKind.current.engine().execute(
      .to(server) { $0.delivery = .streamed(maximumBytes: nil) })
    // When this call returns, the reader is waiting.
    let reader = Task.immediate {
      var text = ""
      do throws(TransportError) {
        for try await chunk in response.body { text += String(decoding: chunk, as: UTF8.self) }
        return (text, "end")
      } catch {
        return (text, error.words)
      }
    }
    gate.open()
    #expect(await reader.value == ("last", "response/malformed_response"))
  }

  @Test(
    "An upload continues beside a response that begins early, whether or not the response is read meanwhile",
    arguments: [true, false])
  func uploadBesideAnswer(isReadAtOnce: Bool) async throws {
    let half = 64 << 10
    let uploaded = try LoopbackGate()
    let server = try LoopbackServer { connection in
      guard let head = try connection.readHead() else { return }
      try connection.write("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: \(2 * half)\r\n\r\n")
      try connection.write([UInt8](repeating: 7, count: half))
      _ = try connection.readBody(for: head)
      uploaded.open()
      try connection.write([UInt8](repeating: 7, count: half))
    }
    let engine = try LinkKind.current.engine {
      $0.streamBufferBytes = 1 << 10
      // Each turn ends with more bytes to send, none of which are queued.
      $0.engine.sentBytesPerTurn = 4 << 10
    }
    let response = try await engine.execute(
      .to(server) {
        $0.head.method = .post
        $0.body = .raw(Data(count: 4 << 20))
        $0.delivery = .streamed(maximumBytes: nil)
      })
    if !isReadAtOnce { #expect(await eventually { uploaded.isOpen }) }
    var count = 0
    for try await chunk in response.body { count += chunk.count }
    #expect(count == 2 * half)
  }

  @Test("A body that is dropped unread closes the connection")
  func droppedBody() async throws {
    let server = try Self.flooding(Progress())
    let engine = try LinkKind.current.engine()
    _ = try await engine.execute(.to(server) { $0.delivery = .streamed(maximumBytes: nil) })
    #expect(await eventually { engine.activeTransfers == 0 && server.openConnections == 0 })
  }

  @Test("A streamed body is stopped at its limit")
  func streamLimit() async throws {
    let server = try Self.flooding(Progress(), announcesLength: false)
    let engine = try LinkKind.current.engine()
    let response = try await engine.execute(.to(server) { $0.delivery = .streamed(maximumBytes: 1 << 20) })
    var count = 0
    var failure: TransportError?
    do throws(TransportError) {
      for try await chunk in response.body { count += chunk.count }
    } catch { failure = error }
    #expect(failure?.words == "limit/body_too_large")
    #expect(count <= 1 << 20)
    #expect(await eventually { engine.activeTransfers == 0 && server.openConnections == 0 })
  }

  @Test(
    "A collected body over its limit is an error; one exactly at its limit is not", arguments: [0, 1], [false, true])
  func collectLimit(excess: Int, isChunked: Bool) async throws {
    let server = try LoopbackServer.http { _ in
      let answer = LoopbackResponse(body: [UInt8](repeating: 1, count: 1000 + excess))
      return isChunked ? answer.addingTrailer("X-Is", "chunked") : answer
    }
    let engine = try LinkKind.current.engine()
    let outcome = await engine.outcome(server) { $0.delivery = .collected(maximumBytes: 1000) }
    #expect(
      outcome
        == (excess == 0 ? .answered(200, String(repeating: "\u{1}", count: 1000)) : .failed("limit/body_too_large")))
  }

  @Test("A server that stops reading pauses the upload's source, and then gets every byte", arguments: [true, false])
  func slowServer(isChunked: Bool) async throws {
    let gate = try LoopbackGate()
    let server = try LoopbackServer { connection in
      guard let head = try connection.readHead() else { return }
      connection.wait(for: gate)
      let body = try connection.readBody(for: head)
      var hash = FNV()
      hash.add(body)
      try connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(String(hash.value).utf8.count)\r\n\r\n\(hash.value)")
    }
    let progress = Progress()
    let engine = try LinkKind.current.engine()
    let source = RequestBody.Source.stream(length: isChunked ? nil : Int64(Self.total), isReplayable: false) {
      var number = 0
      return {
        guard number < Self.pieces else { return nil }
        defer { number += 1 }
        progress.add(Self.piece)
        return Data(Self.bytes(number))
      }
    }
    async let outcome = engine.outcome(server, method: .post) { $0.body = RequestBody(source: source) }
    try await server.waitForRequests(count: 1)
    let pulled = await progress.settles()
    #expect(pulled < 24 << 20)
    gate.open()
    #expect(await outcome == .answered(200, "\(Self.digest)"))
    #expect(progress.value == Self.total)
  }

  @Test("An upload whose source fails ends with that error and closes the connection")
  func failingSource() async throws {
    struct Broken: Error {}
    let server = try LoopbackServer { connection in
      guard let head = try connection.readHead() else { return }
      try connection.readBody(for: head)
    }
    let engine = try LinkKind.current.engine()
    let source = RequestBody.Source.stream(length: nil, isReplayable: false) {
      var isFirst = true
      return {
        defer { isFirst = false }
        if isFirst { return Data("hello".utf8) }
        throw Broken()
      }
    }
    let error = try await engine.failure(server, method: .post) { $0.body = RequestBody(source: source) }
    #expect(error.words == "request/invalid_body")
    #expect(server.requests.allSatisfy { !$0.isComplete })
    #expect(await eventually { engine.activeTransfers == 0 && server.openConnections == 0 })
  }

  @Test("An upload shorter than announced does not appear complete to the server")
  func shortSource() async throws {
    let server = try LoopbackServer { connection in
      guard let head = try connection.readHead() else { return }
      try connection.readBody(for: head)
    }
    let chunks = AsyncStream<Data> {
      $0.yield(Data("four".utf8))
      $0.finish()
    }
    let error = try await LinkKind.current.engine().failure(server, method: .post) {
      $0.body = .stream(chunks, length: 10)
    }
    #expect(error.words == "request/invalid_body")
    #expect(server.requests.allSatisfy { !$0.isComplete })
  }
}
