// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import LastroSupport
import TestSupport
import Testing

@testable import LastroTesting

@Suite("Streams in memory", .timeLimit(.minutes(15)))
struct MemoryStreamTests {
  @Test("finishWriting during a write is refused, and the write arrives complete")
  func finishDuringWrite() async throws {
    let (near, far) = MemoryStream.pair(.init(capacity: 4))
    let sent = Data("much more than fits".utf8)
    let writing = Task { try await near.write(sent) }
    var received = try #require(try await far.read(upTo: 1))
    #expect(await words { try await near.finishWriting() } == "request/operation_in_progress")
    while received.count < sent.count, let piece = try await far.read() { received += piece }
    #expect(received == sent)
    try await writing.value
    try await near.finishWriting()
    try await near.finishWriting()
    #expect(try await far.read() == nil)
    near.close()
    #expect(await words { try await near.finishWriting() } == "request/stream_closed")
  }

  @Test("A pair, and the streams of a dialer, have the limits that are passed as numbers")
  func numbers() async throws {
    let (near, far) = MemoryStream.pair(longestRead: 2)
    try await near.write(Data("abc".utf8))
    #expect(try await far.read() == Data("ab".utf8))
    let (narrow, unread) = MemoryStream.pair(capacity: 3)
    // A released end is closed.
    defer { unread.close() }
    try await narrow.write(Data("abc".utf8))
    #expect(await words { try await narrow.write(Data("d".utf8), within: .milliseconds(1)) } == "timeout/idle_timeout")
    let dialer = MemoryDialer(longestRead: 1) { _, stream in try await stream.write(Data("abc".utf8)) }
    let stream = try await dialer.dial(DialRequest(host: "h", port: 1))
    #expect(try await stream.read() == Data("a".utf8))
  }

  @Test("A direction retains no more data than is unread", arguments: [1000, 1024, 8192])
  func memory(read: Int) async throws {
    let pipe = MemoryPipe(.init(capacity: 8192))
    for _ in 0..<200 {
      let room = 8192 - pipe.state.read(\.bytes.count)
      if room > 0 { try await pipe.write(Data(count: room), within: nil) }
      _ = try await pipe.read(upTo: read, within: nil)
      try #require(pipe.state.read(\.bytes.startIndex) < 8192)
    }
  }

  @Test("The limit of a write starts with the write and is not extended by progress")
  func limitOfWrite() async throws {
    let (near, far) = MemoryStream.pair(.init(capacity: 1))
    let reading = Task {
      // A slow reader, which reads one byte at a time.
      while try await far.read() != nil { try await Task.sleep(for: .milliseconds(2)) }
    }
    #expect(
      await words { try await near.write(Data(count: 20_000), within: .milliseconds(100)) }
        == "timeout/idle_timeout")
    try await reading.value
  }
}
