// SPDX-License-Identifier: Apache-2.0

import Foundation
import Lastro
import Testing

@testable import LastroExchange

@Suite("Body channel", .timeLimit(.minutes(5)))
struct BodyChannelTests {
  @Test("what comes byte by byte is handed over whole, in order, in few pieces")
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

  @Test(
    "what came before a server's cut or silence is read, and then why there is no more; after any other end nothing is",
    arguments: [
      (FailureStage.response, FailureCode.truncatedBody, true), (.cancelled, .cancelled, false),
      (.timeout, .totalTimeout, false), (.timeout, .idleTimeout, true),
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
