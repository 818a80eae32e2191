// SPDX-License-Identifier: Apache-2.0

import CurlSupport
import FoundationEssentials
import HTTPTypes
import Lastro
import LastroCurl
import LastroHTTP
import LastroSupport
import TestSupport
import Testing

@testable import LastroTesting

/// HTTP/2 frames within TLS records. Some servers misread a frame that spans two records.
@Suite("HTTP/2: frames and TLS records", .timeLimit(.minutes(15)))
struct RecordTests {
  /// A transport that speaks HTTP/2 over TLS.
  enum Way: String, CaseIterable, Sendable {
    case engine, curlDialer, tlsDialer

    func transport(_ lab: TestAuthority) throws -> any Transport {
      let engine = try CurlTransport.with { $0.connection = lab.options() }
      if self == .engine { return engine }
      let dialer: any Dialer = self == .curlDialer ? engine : lab.dialer()
      return try DialerTransport(over: dialer)
    }
  }

  private let lab: TestAuthority

  init() throws { lab = try TestAuthority() }

  @Test("Every TLS record ends with a frame while uploads of all sizes share a connection", arguments: Way.allCases)
  func uploads(_ way: Way) async throws {
    let server = try RecordServer(lab)
    let transport = try way.transport(lab)
    _ = try await transport.execute(.to(server.loopback, "/warm"))
    let sizes = [1, 999, 16_374, 16_375, 16_376, 16_384, 32_768, 65_536, 100_000, 1_000_000, 3_000_000]
    let pieces = [(1, 50), (37, 400), (4_096, 100), (16_384, 40), (20_000, 60)]
    try await withThrowingTaskGroup(of: Void.self) { group in
      for round in 0..<2 {
        let bodies =
          sizes.map { RequestBody(source: .bytes(Data(count: $0))) } + pieces.map { body(of: $0.1, pieces: $0.0) }
        for (number, body) in bodies.enumerated() {
          let request = TransferRequest.to(server.loopback, "/\(round)/\(number)", method: .post) { $0.body = body }
          group.addTask {
            let answer = try await transport.execute(request)
            #expect(answer.head.status.code == 200 && answer.facts.httpVersion == "2")
          }
        }
      }
      try await group.waitForAll()
    }
    let total = 2 * (sizes.reduce(0, +) + pieces.reduce(0) { $0 + $1.0 * $1.1 })
    let account = server.account
    #expect(account.bodyBytes == total)
    #expect(account.cutFrames == 0, "of \(account.records) records")
    #expect(account.pongs > 0)
    // Large bodies must fill whole records.
    #expect(account.fullRecords > 200)
  }

  @Test("Heads larger than a TLS record are sent in frames that fit into records", arguments: Way.allCases)
  func largeHeads(_ way: Way) async throws {
    let server = try RecordServer(lab)
    let transport = try way.transport(lab)
    for size in [16_000, 16_350, 16_384, 20_000, 40_000, 100_000] {
      for body in [RequestBody.empty, RequestBody(source: .bytes(Data(count: 20_000)))] {
        let request = TransferRequest.to(server.loopback, "/", method: .post) {
          // Huffman coding does not shorten this value.
          $0.head.headerFields[.userAgent] = String(repeating: "^", count: size)
          $0.body = body
        }
        let answer = try await transport.execute(request)
        #expect(answer.head.status.code == 200, "\(size)")
      }
    }
    let account = server.account
    #expect(account.cutFrames == 0, "of \(account.records) records")
    #expect(account.bodyBytes == 120_000)
    #expect(account.headBytes > 2 * 190_000)
  }

  private func body(of count: Int, pieces size: Int) -> RequestBody {
    let stream = AsyncStream<Data> { continuation in
      for _ in 0..<count { continuation.yield(Data(count: size)) }
      continuation.finish()
    }
    return .stream(stream)
  }
}

/// An HTTP/2 server that records where TLS records end.
private struct RecordServer {
  struct Account {
    var records = 0
    var fullRecords = 0
    /// The number of records that end within a frame.
    var cutFrames = 0
    var bodyBytes = 0
    var headBytes = 0
    var pongs = 0
  }

  private let shared: Lock<Account>
  let loopback: LoopbackServer

  var account: Account { shared.withLock { $0 } }

  init(_ lab: TestAuthority) throws {
    let shared = Lock(Account())
    self.shared = shared
    var tls = try lab.tls()
    tls.applicationProtocols = ["h2"]
    loopback = try LoopbackServer(tls: tls) { connection in
      try connection.write(LoopbackHTTP2Frame.settings([]).bytes)
      guard try connection.read(exactly: 24).elementsEqual("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) else { return }
      var rest = connection.read(max: .max)
      var credits: [UInt32: Int] = [:]
      while true {
        let frames = Self.frames(&rest)
        shared.withLock { account in
          account.records += 1
          if !rest.isEmpty { account.cutFrames += 1 }
        }
        for frame in frames { try Self.take(frame, connection, shared, &credits) }
        // One read returns one record at most.
        let record = connection.read(max: .max)
        if record.isEmpty { return }
        shared.withLock { if record.count == 16_384 { $0.fullRecords += 1 } }
        rest += record
      }
    }
  }

  /// Removes the complete frames from the bytes, and returns them.
  private static func frames(_ bytes: inout [UInt8]) -> [LoopbackHTTP2Frame] {
    var frames: [LoopbackHTTP2Frame] = []
    var start = 0
    while bytes.count - start >= 9 {
      let length = Int(LoopbackHTTP2Frame.number(bytes[start..<start + 3]))
      guard bytes.count - start >= 9 + length else { break }
      frames.append(
        LoopbackHTTP2Frame(
          .init(rawValue: bytes[start + 3]), flags: bytes[start + 4],
          stream: LoopbackHTTP2Frame.number(bytes[start + 5..<start + 9]) & 0x7fff_ffff,
          payload: Array(bytes[start + 9..<start + 9 + length])))
      start += 9 + length
    }
    bytes.removeFirst(start)
    return frames
  }

  private static func take(
    _ frame: LoopbackHTTP2Frame, _ connection: LoopbackConnection, _ shared: borrowing Lock<Account>,
    _ credits: inout [UInt32: Int]
  ) throws {
    var answers: [LoopbackHTTP2Frame] = []
    switch frame.kind {
    case .settings where frame.flags & 1 == 0: answers.append(LoopbackHTTP2Frame(.settings, flags: 1, stream: 0))
    case .ping where frame.flags & 1 != 0: shared.withLock { $0.pongs += 1 }
    case .ping: answers.append(LoopbackHTTP2Frame(.ping, flags: 1, stream: 0, payload: frame.payload))
    case .data where !frame.payload.isEmpty:
      let bytes = shared.withLock { account in
        account.bodyBytes += frame.payload.count
        return account.bodyBytes
      }
      // Credit is granted per half window, as common servers do.
      for stream in [0, frame.stream] {
        credits[stream, default: 0] += frame.payload.count
        guard let count = credits[stream], count >= 1 << 15 else { continue }
        credits[stream] = nil
        let credit = (0..<4).map { UInt8(truncatingIfNeeded: count >> (24 - 8 * $0)) }
        answers.append(LoopbackHTTP2Frame(.windowUpdate, stream: stream, payload: credit))
      }
      if bytes % 50 == 0 { answers.append(LoopbackHTTP2Frame(.ping, stream: 0, payload: [1, 2, 3, 4, 5, 6, 7, 8])) }
    case .headers, .continuation: shared.withLock { $0.headBytes += frame.payload.count }
    default: break
    }
    if frame.kind == .data || frame.kind == .headers, frame.flags & 1 != 0 {
      // The payload is `:status: 200` (RFC 7541 appendix A); the flags end the stream.
      answers.append(LoopbackHTTP2Frame(.headers, flags: 5, stream: frame.stream, payload: [0x88]))
    }
    if !answers.isEmpty { try connection.write(answers.flatMap(\.bytes)) }
  }
}
