// SPDX-License-Identifier: Apache-2.0

import Foundation
import Lastro
import TestSupport
import Testing

@Suite("Digests of files", .timeLimit(.minutes(15)))
struct FileDigestTests {
  private let path = NSTemporaryDirectory() + "digest-\(UUID().uuidString)"

  private func write(_ bytes: Data) throws { try bytes.write(to: URL(filePath: path)) }

  /// Whether this process has the file open.
  private var isOpen: Bool {
    let folder = "/proc/self/fd"
    let descriptors = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    let target = URL(filePath: path).resolvingSymlinksInPath().path
    return descriptors.contains {
      (try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\($0)")) == target
    }
  }

  @Test(
    "The digests of NIST are reproduced from a file",
    arguments: [
      ("", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
      ("abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
      ("a", 1_000_000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"),
    ] as [(String, Int, String)])
  func vectors(text: String, count: Int, expected: String) async throws {
    try write(Data(String(repeating: text, count: count).utf8))
    defer { unlink(path) }
    #expect(try await MessageDigest(ofFile: path).hexadecimal == expected)
    #expect(!isOpen)
  }

  @Test(
    "The digest of a slice is that of its bytes in memory",
    arguments: [
      (0, 10), (0, 131_072), (1, 131_073), (100_000, 150_000), (299_990, nil), (1, nil), (0, nil), (0, 0), (300_000, 0),
      (300_000, nil),
    ] as [(Int64, Int64?)])
  func slices(offset: Int64, length: Int64?) async throws {
    var random = SeededGenerator(seed: 9)
    let content = Data((0..<300_000).map { _ in UInt8.random(in: .min ... .max, using: &random) })
    try write(content)
    defer { unlink(path) }
    let slice = content.dropFirst(Int(offset)).prefix(length.map { Int($0) } ?? content.count)
    let expected = try MessageDigest(of: slice)
    #expect(try await MessageDigest(ofFile: path, offset: offset, length: length) == expected)
  }

  @Test("The digest of 300 MiB of a file of zeros is known")
  func sparse() async throws {
    try write(Data("head".utf8))
    defer { unlink(path) }
    #expect(truncate(path, 300 << 20 + 4) == 0)
    let digest = try await MessageDigest(ofFile: path, offset: 4)
    #expect(digest.hexadecimal == "17a88af83717f68b8bd97873ffcf022c8aed703416fe9b08e0fa9e3287692bf0")
  }

  @Test(
    "A slice beyond the end of the file, and a path that is not a file, are refused",
    arguments: [
      (nil, -1, nil), (nil, 0, -1), (nil, 4, nil), (nil, 3, 1), (nil, 0, 4), (nil, 1, .max), ("/nowhere/file", 0, nil),
      ("/dev/null", 0, nil), ("/", 0, nil), ("/a\u{0}b", 0, nil), ("", 0, 0),
    ] as [(String?, Int64, Int64?)])
  func refused(other: String?, offset: Int64, length: Int64?) async throws {
    try write(Data("abc".utf8))
    defer { unlink(path) }
    let error = try await transportError {
      try await MessageDigest(ofFile: other ?? path, offset: offset, length: length)
    }
    #expect(error.words == "request/invalid_body" && error.hint != nil)
  }

  @Test("Cancelling ends the digest of a file that takes minutes to read, and the reading")
  func cancelled() async throws {
    try write(Data())
    defer { unlink(path) }
    #expect(truncate(path, 1 << 39) == 0)
    let task = Task { [path] in try await MessageDigest(ofFile: path) }
    #expect(await eventually { isOpen })
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(await eventually { !isOpen })
  }

  @Test("A cancelled task gets no digest")
  func cancelledBefore() async throws {
    try write(Data("abc".utf8))
    defer { unlink(path) }
    let task = Task { [path] in
      withUnsafeCurrentTask { $0?.cancel() }
      return try await MessageDigest(ofFile: path)
    }
    await #expect(throws: CancellationError.self) { try await task.value }
  }
}
