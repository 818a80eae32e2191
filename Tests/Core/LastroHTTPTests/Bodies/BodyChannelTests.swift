// SPDX-License-Identifier: Apache-2.0

import Foundation
import Lastro
import LastroSupport
import Testing

@testable import LastroHTTP

@Suite("Body channel", .timeLimit(.minutes(15)))
struct BodyChannelTests {
  @Test("Bytes that arrive one at a time are delivered complete, in order and in few pieces")
  func tinyOffers() async throws {
    let channel = BodyChannel(capacity: 1 << 20)
    let bytes = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
    var refused = 0
    bytes.withUnsafeBytes { bytes in
      for index in bytes.indices {
        if case .taken = channel.offer(UnsafeRawBufferPointer(rebasing: bytes[index...index])) { continue }
        refused += 1
      }
    }
    channel.finish(.success(()))
    #expect(refused == 0)
    var taken = Data(), pieces = 0
    while let piece = try await channel.take(resume: {}).get() {
      taken += piece
      pieces += 1
    }
    #expect(taken == bytes)
    #expect(pieces < 40)
  }

  @Test("Bytes received into the channel's buffer are handed to the reader without a copy")
  func ownMemory() async throws {
    let channel = BodyChannel(capacity: 1 << 20)
    let space = try #require(channel.space())
    #expect(channel.space()?.baseAddress == space.baseAddress)
    let first = Data(repeating: 7, count: BodyChannel.pieceBytes / 4)
    space.copyBytes(from: first)
    _ = channel.offer(UnsafeRawBufferPointer(rebasing: space[..<first.count]))
    #expect(channel.space()?.baseAddress != space.baseAddress)
    _ = Data(" and second".utf8).withUnsafeBytes { channel.offer($0) }
    let piece = try #require(try await channel.take(resume: {}).get())
    #expect(piece == first + Data(" and second".utf8))
    #expect(piece.withUnsafeBytes { $0.baseAddress == UnsafeRawPointer(space.baseAddress) })
  }

  @Test("A few bytes received into a large buffer are copied, so they do not retain the buffer")
  func ownMemoryForLittle() async throws {
    let channel = BodyChannel(capacity: 1 << 20)
    for _ in 0..<1000 {
      let space = try #require(channel.space())
      _ = channel.offer(UnsafeRawBufferPointer(rebasing: space[..<64]))
    }
    channel.finish(.success(()))
    var pieces = 0, count = 0
    while let piece = try await channel.take(resume: {}).get() {
      pieces += 1
      count += piece.count
    }
    #expect(count == 64_000)
    #expect(pieces < 40)
  }

  @Test("Data bounded by a flow-control window is accepted beyond the capacity; other data waits until half is read")
  func beyond() async throws {
    let channel = BodyChannel(capacity: 100)
    let bytes = Data(repeating: 7, count: 60)
    func offer(isBounded: Bool) -> BodyChannel.Offer {
      bytes.withUnsafeBytes { channel.offer($0, isBounded: isBounded) }
    }
    #expect([offer(isBounded: true), offer(isBounded: true)] == [.taken, .taken])
    #expect(!channel.isPaused)
    #expect(offer(isBounded: true) == .takenBeyond)
    #expect(channel.isPaused && channel.space() == nil)
    #expect(offer(isBounded: false) == .full)
    channel.finish(.success(()))
    let resumed = Watched(0)
    var count = 0
    while let piece = try await channel.take(resume: { resumed.change { $0 += 1 } }).get() { count += piece.count }
    #expect(count == 180)
    #expect(resumed.read { $0 } == 1)
  }

  @Test("The reader of a large body waits briefly for more when a medium amount has arrived")
  func gathering() async throws {
    let channel = BodyChannel(capacity: 1 << 20)
    func offer(_ count: Int) { _ = Data(count: count).withUnsafeBytes { channel.offer($0) } }
    offer(64 << 10)
    #expect(!channel.isGathering)
    for _ in 0..<15 { offer(64 << 10) }
    #expect(!channel.isGathering)
    while try await channel.take(resume: {}).get()?.count == 64 << 10, channel.count > 0 {}
    offer(1 << 10)
    #expect(!channel.isGathering)
    offer(64 << 10)
    #expect(channel.isGathering)
    offer(256 << 10)
    #expect(!channel.isGathering)
    // With a small channel, the loop waits for the reader.
    let small = BodyChannel(capacity: 64 << 10)
    for _ in 0..<20 {
      _ = Data(count: 60 << 10).withUnsafeBytes { small.offer($0) }
      #expect(!small.isGathering)
      _ = try await small.take(resume: {}).get()
    }
  }

  @Test(
    "Bytes before a truncation or a limit of silence are delivered before the error; after other failures none are",
    arguments: [
      (FailureStage.response, FailureCode.truncatedBody, true), (.cancelled, .cancelled, false),
      (.timeout, .totalTimeout, false), (.timeout, .idleTimeout, true),
      (.timeout, .firstEventTimeout, true),
    ])
  func unreadAtFailure(stage: FailureStage, code: FailureCode, isRead: Bool) async throws {
    let channel = BodyChannel(capacity: 1 << 20)
    _ = Data("last".utf8).withUnsafeBytes { channel.offer($0) }
    channel.finish(.failure(TransportError(stage: stage, code: code, message: "cut")))
    if isRead { #expect(try await channel.take(resume: {}).get() == Data("last".utf8)) }
    let end = await channel.take(resume: {})
    #expect(#expect(throws: TransportError.self) { try end.get() }?.code == code)
  }
}
