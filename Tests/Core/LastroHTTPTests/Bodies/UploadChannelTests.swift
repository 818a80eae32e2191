// SPDX-License-Identifier: Apache-2.0

import Foundation
import Lastro
import LastroTesting
import TestSupport
import Testing

@testable import LastroHTTP

@Suite("Upload channel", .timeLimit(.minutes(15)))
struct UploadChannelTests {
  /// Returns a channel that holds all chunks of its source.
  private func channel(_ chunks: [Data]) async throws -> UploadChannel {
    let source = AsyncStream { stream in
      for chunk in chunks { stream.yield(chunk) }
      stream.finish()
    }
    let channel = try #require(UploadChannel(body: .stream(source)))
    channel.start(resume: {})
    let total = chunks.reduce(0) { $0 + $1.count }
    #expect(await eventually { if case .bytes(total) = channel.peek() { true } else { false } })
    return channel
  }

  @Test("Large chunks are passed on as they are, and small ones are combined")
  func chunks() async throws {
    let large = Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0) })
    let channel = try await channel([Data("ab".utf8), Data("cd".utf8), large, Data("ef".utf8)])
    #expect(channel.chunk(from: 16, upTo: 1_000) == nil)
    let space = UnsafeMutableRawBufferPointer.allocate(byteCount: 4, alignment: 1)
    defer { space.deallocate() }
    guard case .bytes(4) = channel.read(into: space) else { return #expect(Bool(false), "nothing was read") }
    #expect(Data(space) == Data("abcd".utf8))
    let first = try #require(channel.chunk(from: 16, upTo: 60_000))
    #expect(first == large.prefix(60_000))
    #expect(first.withUnsafeBytes(\.baseAddress) == large.withUnsafeBytes(\.baseAddress))
    #expect(channel.chunk(from: 16, upTo: 60_000) == large.suffix(40_000))
    #expect(channel.chunk(from: 16, upTo: 60_000) == nil)
    guard case .bytes(2) = channel.peek() else { return #expect(Bool(false), "the last chunk is lost") }
  }

  /// An object that lives as long as the pump that may call its `resume`.
  private final class Loop: Sendable {
    func resume() {}
  }

  /// Returns a started channel, and a closure that returns the loop while the pump keeps it alive.
  private func started(_ source: AsyncStream<Data>) throws -> (UploadChannel, pump: () -> Loop?) {
    let channel = try #require(UploadChannel(body: .stream(source)))
    let loop = Loop()
    channel.start { loop.resume() }
    return (channel, { [weak loop] in loop })
  }

  private func expectNoEnd(_ channel: UploadChannel) {
    let space = UnsafeMutableRawBufferPointer.allocate(byteCount: 4, alignment: 1)
    defer { space.deallocate() }
    for supply in [channel.read(into: space), channel.peek()] {
      if case .wait = supply {} else { Issue.record("\(supply)") }
    }
    #expect(channel.chunk(from: 1, upTo: 4) == nil)
  }

  @Test("A stopped channel reports no end when its source ends because of the cancellation")
  func stopped() async throws {
    let (source, writer) = AsyncStream.makeStream(of: Data.self)
    let (channel, pump) = try started(source)
    guard case .wait = channel.peek() else { return #expect(Bool(false), "the channel has bytes") }
    channel.stop()
    #expect(await eventually { pump() == nil })
    expectNoEnd(channel)
    writer.finish()
  }

  @Test("A channel that is stopped between two chunks cancels its source, although the source is held elsewhere")
  func stoppedBetweenChunks() async throws {
    let (source, writer) = AsyncStream.makeStream(of: Data.self)
    let ended = EventRecorder<String>()
    writer.onTermination = { _ in ended.record("ended") }
    // The chunk fills the channel, so the pump waits for room and not for the source.
    writer.yield(Data(count: 1 << 20))
    let (channel, _) = try started(source)
    #expect(await eventually { if case .bytes = channel.peek() { true } else { false } })
    channel.stop()
    try await ended.waitForEvents(count: 1)
    withExtendedLifetime(source) {}
  }

  @Test("A stopped channel reports no end although its source had ended with unread bytes")
  func stoppedAtTheEnd() async throws {
    let (source, writer) = AsyncStream.makeStream(of: Data.self)
    writer.yield(Data("rest".utf8))
    writer.finish()
    let (channel, pump) = try started(source)
    #expect(await eventually { pump() == nil })
    guard case .bytes(4) = channel.peek() else { return #expect(Bool(false), "the rest is lost") }
    channel.stop()
    expectNoEnd(channel)
  }
}
