// SPDX-License-Identifier: Apache-2.0

import Foundation
import Lastro
import TestSupport
import Testing

@Suite("Bodies that are a slice of a file", .timeLimit(.minutes(15)))
struct FileSliceTests {
  private static let size = 300_000
  private static let content = {
    var random = SeededGenerator(seed: 8)
    return Data((0..<Self.size).map { _ in UInt8.random(in: .min ... .max, using: &random) })
  }()

  private let path = NSTemporaryDirectory() + "slice-\(UUID().uuidString)"

  private func write(_ bytes: Data) throws { try bytes.write(to: URL(filePath: path)) }

  private func chunks(_ body: RequestBody) async throws -> [Data] {
    guard case .stream(_, true, let open) = body.source else { throw TestFailure("the slice is not streamed") }
    let next = open()
    var chunks: [Data] = []
    while let chunk = try await next() { chunks.append(chunk) }
    return chunks
  }

  private func sent(_ body: RequestBody) async throws -> Data { Data(try await chunks(body).joined()) }

  @Test(
    "A slice has the bytes from its offset on, each time it is sent",
    arguments: [
      (0, 10), (0, 131_072), (1, 131_072), (0, 131_073), (100_000, 150_000), (299_990, 10), (299_990, nil), (1, nil),
      (0, 300_000), (0, 0), (5, 0), (300_000, 0), (300_000, nil),
    ] as [(Int64, Int64?)])
  func bytes(offset: Int64, length: Int64?) async throws {
    try write(Self.content)
    defer { unlink(path) }
    let body = try RequestBody.file(path: path, offset: offset, length: length, contentType: "x/y")
    let expected = Self.content.dropFirst(Int(offset)).prefix(length.map { Int($0) } ?? Self.size)
    #expect(body.length == Int64(expected.count) && body.isReplayable && !body.isEmpty)
    #expect(body.contentType == "x/y")
    for _ in 0..<2 { #expect(try await sent(body) == expected) }
    let digest = try MessageDigest(of: expected)
    #expect(try await MessageDigest.computed(of: body) == digest)
  }

  @Test(
    "A slice beyond the end of its file is refused, and so are negative numbers",
    arguments: [
      (-1, nil), (-1, 3), (0, -1), (.min, .min), (300_001, nil), (300_001, 0), (300_000, 1), (0, 300_001), (1, 300_000),
      (1, .max), (.max, nil), (.max, .max),
    ] as [(Int64, Int64?)])
  func outside(offset: Int64, length: Int64?) throws {
    try write(Self.content)
    defer { unlink(path) }
    let error = try #require(refusal { _ = try RequestBody.file(path: path, offset: offset, length: length) })
    #expect(error.words == "request/invalid_body" && error.hint != nil)
    #expect(error.message.contains(path))
  }

  @Test(
    "A slice of a path that is not a readable file is refused",
    arguments: ["", "/does/not/exist", "/", "/dev/null", "/etc/pass\u{0}wd"])
  func notAFile(path: String) throws {
    let error = try #require(refusal { _ = try RequestBody.file(path: path, offset: 0, length: 0) })
    #expect(error.words == "request/invalid_body" && error.hint != nil)
  }

  @Test("A slice whose file shrank, vanished or was replaced fails the next time it is sent")
  func changed() async throws {
    try write(Self.content)
    let body = try RequestBody.file(path: path, offset: 100_000, length: 150_000)
    #expect(try await sent(body) == Self.content[100_000..<250_000])
    try write(Self.content + Self.content)
    #expect(try await sent(body) == Self.content[100_000..<250_000])
    for size in [249_999, 100_000, 99_999, 0] {
      #expect(truncate(path, size) == 0)
      let error = try await transportError { try await sent(body) }
      #expect(error.words == "request/invalid_body" && error.hint != nil)
      #expect(error.message.contains("\(size) byte"))
    }
    unlink(path)
    #expect(await words { try await sent(body) } == "request/invalid_body")
    // Opening a pipe that has no writer would block forever.
    #expect(mkfifo(path, 0o600) == 0)
    #expect(await words { try await sent(body) } == "request/invalid_body")
    unlink(path)
  }

  @Test("A slice whose file shrinks while it is sent fails, and does not end early")
  func shrinking() async throws {
    try write(Self.content)
    defer { unlink(path) }
    let body = try RequestBody.file(path: path, offset: 10, length: 299_000)
    guard case .stream(_, _, let open) = body.source else { throw TestFailure("the slice is not streamed") }
    let next = open()
    var read = try await next() ?? Data()
    #expect(truncate(path, 200_000) == 0)
    var failure: TransportError?
    do {
      while let chunk = try await next() { read += chunk }
    } catch {
      failure = error as? TransportError
    }
    #expect(failure?.words == "request/invalid_body")
    #expect(read == Self.content[10..<200_000])
  }

  @Test("A slice of 300 MiB is read in blocks of at most 128 KiB")
  func sparse() async throws {
    try write(Data())
    defer { unlink(path) }
    let length: Int64 = 300 << 20
    #expect(truncate(path, Int(length) + 2000) == 0)
    let body = try RequestBody.file(path: path, offset: 1000, length: length)
    guard case .stream(_, true, let open) = body.source else { throw TestFailure("the slice is not streamed") }
    let next = open()
    var count: Int64 = 0
    var largest = 0
    while let chunk = try await next() {
      count += Int64(chunk.count)
      largest = max(largest, chunk.count)
    }
    #expect(count == length && body.length == length && largest <= 128 << 10)
  }
}
