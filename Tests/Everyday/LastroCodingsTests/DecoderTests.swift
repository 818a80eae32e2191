// SPDX-License-Identifier: Apache-2.0

import Foundation
import LastroWire
import TestSupport
import Testing

@testable import Lastro
@testable import LastroBrotli
@testable import LastroZstd

@Suite("Decoders of zstd and Brotli", .ownThread)
struct DecoderTests {
  /// A coding with samples of another implementation's encoder.
  struct Sample: Sendable, CustomTestStringConvertible {
    var coding: ContentCoding
    var bytes: [UInt8]
    var testDescription: String { coding.name }
  }

  /// The result of feeding a decoder with bytes in parts, with limited room for its output.
  struct Feeding: Equatable {
    var data: [UInt8] = []
    /// The violation while decoding, or at the end of the input.
    var violation: CodingViolation.Kind?
    var mostHeld = 0

    init(
      _ parts: [ArraySlice<UInt8>], _ coding: ContentCoding, room: Int = 64,
      memory: DecodingMemory = DecodingMemory(limit: 64 << 20), keeping kept: Int = .max
    ) {
      let decoder = coding.makeDecoder(memory)
      let space = UnsafeMutableRawBufferPointer.allocate(byteCount: room, alignment: 1)
      defer { space.deallocate() }
      do throws(CodingViolation) {
        for part in parts {
          try Array(part).withBytes { bytes throws(CodingViolation) in
            var position = 0
            while true {
              let step = try decoder.decode(UnsafeRawBufferPointer(rebasing: bytes[position...]), into: space, now: 0)
              position += step.consumed
              mostHeld = max(mostHeld, decoder.heldBytes)
              if data.count < kept { data += space[..<step.produced] }
              if step.produced > 0 { continue }
              #expect(position == bytes.count, "without output all input must be consumed")
              return
            }
          }
        }
        try decoder.end()
      } catch {
        violation = error.kind
      }
    }

    static func == (one: Self, other: Self) -> Bool { one.data == other.data && one.violation == other.violation }
  }

  private static func bytes(_ base64: String) -> [UInt8] { Array(Data(base64Encoded: base64) ?? Data()) }

  /// A sentence forty times, and each byte once.
  private static let text =
    Array(String(repeating: "All happy families are alike. ", count: 40).utf8) + Array(0...UInt8.max)
  private static let zstd = bytes(
    """
    KLUv/WSwBD0JAOQRQWxsIGhhcHB5IGZhbWlsaWVzIGFyZSBhbGlrZS4gAAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKiss\
    LS4vMDEyMzQ1Njc4OTo7PD0+P0BBQkNERUZHSElKS0xNTk9QUVJTVFVWV1hZWltcXV5fYGFiY2RlZmdoaWprbG1ub3BxcnN0dXZ3eHl6e3x9fn+AgYKD\
    hIWGh4iJiouMjY6PkJGSk5SVlpeYmZqbnJ2en6ChoqOkpaanqKmqq6ytrq+wsbKztLW2t7i5uru8vb6/wMHCw8TFxsfIycrLzM3Oz9DR0tPU1dbX2Nna\
    29zd3t/g4eLj5OXm5+jp6uvs7e7v8PHy8/T19vf4+fr7/P3+/wEAPhJ+5QQfzdou
    """)
  private static let brotli = bytes(
    """
    G68FSJwJtq2E/JJu50WN0MA8c15uFI/BeSXnneLAPFMdgUN7yVLZWKqERC1wdNgRQyacaGAcjCRCv8Kb1jnZDgDEPEhyMDUeExIIRMEKWxzMd0AIRlAM\
    J0iKZliOF0RJVlRNN0zLdlzPD8IoTtIsL8qqbtquH8ZpXtZtP50v19v98Xwdb6XJWOdDRMqlNu5jrn3u+5/v7w9CMIJiOEFSNMNyvCBKsqJqumFatuN6\
    fhBGcZJmeVFWddN2/TBO87Ju+3Fe9/N+vr8/gGAExXCCpGiG5XhBlGRF1XTDtGzH9fwgjOIkzfKirOqm7fphnOZl3fbjvO7n/X4=
    """)
  static let samples = [Sample(coding: .zstd, bytes: zstd), Sample(coding: .brotli, bytes: brotli)]
  /// 64 MiB of zeros in 54 bytes, with a window of 16 MiB.
  private static let zeros = bytes("z///f/gnAOKxQCD3/p/////wTwDEYQGA7v0/////4Z8AiMMiAN37f/7//8M/ARCHBQC69/8D")
  /// `hello` three times in zstd, with a window of 8 MiB, and of 16 MiB.
  private static let window23 = bytes("KLUv/QBoXQAAKGhlbGxvAQDYihY=")
  private static let window24 = bytes("KLUv/QBwXQAAKGhlbGxvAQDYihY=")
  /// A frame that needs a dictionary.
  private static let dictionary = bytes("KLUv/SPe/15QSE0AAAACPJ1AljgEEA==")
  private static let skippable: [UInt8] = [0x5A, 0x2A, 0x4D, 0x18, 3, 0, 0, 0, 1, 2, 3]

  /// Reads the bytes in one piece, in every two pieces, byte by byte, and with room for one byte. All results must be
  /// equal.
  private func read(_ bytes: [UInt8], _ coding: ContentCoding) -> Feeding {
    let whole = Feeding([bytes[...]], coding)
    for cut in 0...bytes.count {
      #expect(Feeding([bytes[..<cut], bytes[cut...]], coding) == whole, "cut at \(cut)")
    }
    #expect(Feeding(bytes.indices.map { bytes[$0...$0] }, coding) == whole)
    #expect(Feeding(bytes.indices.map { bytes[$0...$0] }, coding, room: 1) == whole)
    #expect(Feeding([bytes[...]], coding, room: 1) == whole)
    return whole
  }

  @Test("A body is the same for every split of its bytes and every room for its data", arguments: samples)
  func splits(sample: Sample) {
    let fed = read(sample.bytes, sample.coding)
    #expect(fed.data == Self.text && fed.violation == nil)
    #expect(Feeding([], sample.coding) == Feeding([[]], sample.coding))
    #expect(Feeding([], sample.coding).violation == nil)
  }

  @Test("Frames of zstd may follow each other, with skippable frames anywhere")
  func frames() {
    let fed = read(Self.skippable + Self.zstd + Self.skippable + Self.zstd + Self.skippable, .zstd)
    #expect(fed.data == Self.text + Self.text && fed.violation == nil)
    let nothing = read(Self.skippable + Self.skippable, .zstd)
    #expect(nothing.data.isEmpty && nothing.violation == nil)
  }

  @Test("A body that is cut at any byte is truncated, and its beginning is correct", arguments: samples)
  func truncated(sample: Sample) {
    for count in 1..<sample.bytes.count {
      let fed = Feeding([sample.bytes[..<count]], sample.coding)
      #expect(fed.violation == .truncated, "\(count) bytes")
      #expect(Self.text.starts(with: fed.data), "\(count) bytes")
    }
  }

  @Test(
    "A bit that is changed in any byte of a body ends in an error or in data, alike for two splits", arguments: samples)
  func changed(sample: Sample) {
    var violations = 0
    for index in sample.bytes.indices {
      for bit in [0, 3, 7] {
        var bytes = sample.bytes
        bytes[index] ^= 1 << UInt8(bit)
        let whole = Feeding([bytes[...]], sample.coding, room: 4_096, keeping: 1 << 20)
        let apart = Feeding(bytes.indices.map { bytes[$0...$0] }, sample.coding, room: 4_096, keeping: 1 << 20)
        #expect((whole.violation == nil) == (apart.violation == nil), "byte \(index), bit \(bit)")
        if whole.violation != nil { violations += 1 } else { #expect(whole.data == apart.data) }
        // The checksum of the sample in zstd notices each change of its data.
        if whole.violation == nil, sample.coding.name == "zstd" { #expect(whole.data == Self.text) }
        #expect(whole.mostHeld < 17 << 20)
      }
    }
    #expect(violations > sample.bytes.count / 4)
  }

  @Test("Bytes behind the end of a body are an error", arguments: samples)
  func trailing(sample: Sample) {
    for more: [UInt8] in [[0], Array("garbage".utf8)] {
      let fed = read(sample.bytes + more, sample.coding)
      #expect(fed.data == Self.text && fed.violation == .trailing)
    }
  }

  @Test("A body that is not compressed, one in an old format and one with a dictionary are corrupt")
  func corrupt() {
    #expect(read(Array("hello".utf8), .zstd).violation == .corrupt)
    #expect(read([0x27, 0xB5, 0x2F, 0xFD] + Self.zstd.dropFirst(4), .zstd).violation == .corrupt)
    #expect(read(Self.dictionary, .zstd).violation == .corrupt)
    #expect(read(Array("<!DOCTYPE html>".utf8), .brotli).violation == .corrupt)
  }

  @Test("Windows above 8 MiB in zstd and 16 MiB in Brotli are refused")
  func windows() {
    let fed = read(Self.window23, .zstd)
    #expect(fed.data == Array("hellohellohello".utf8) && fed.violation == nil)
    #expect((8 << 20...9 << 20).contains(fed.mostHeld))
    #expect(read(Self.window24, .zstd).violation == .largeWindow)
    // The extension for large windows begins with these seven bits.
    #expect(read([0x11, 0x3E, 0, 0, 0], .brotli).violation == .largeWindow)
  }

  @Test("All bodies together hold no more memory than allowed, and return it")
  func memory() throws {
    let memory = DecodingMemory(limit: 9 << 20)
    for _ in 0..<2 {
      let first = ContentCoding.zstd.makeDecoder(memory)
      var space = [UInt8](repeating: 0, count: 64)
      try Self.window23.withBytes { bytes in
        _ = try space.withUnsafeMutableBytes {
          try first.decode(UnsafeRawBufferPointer(rebasing: bytes[..<8]), into: $0, now: 0)
        }
      }
      #expect(first.heldBytes == memory.usedBytes && memory.usedBytes > 8 << 20)
      #expect(Feeding([Self.window23[...]], .zstd, memory: memory).violation == .windows)
      #expect(Feeding([Self.zeros[...]], .brotli, room: 4_096, memory: memory, keeping: 0).violation == .windows)
      #expect(first.heldBytes == memory.usedBytes)
    }
    #expect(memory.usedBytes == 0)
    #expect(Feeding([Self.window23[...]], .zstd, memory: memory).violation == nil)
    #expect(Feeding([Self.zstd[...]], .zstd, memory: DecodingMemory(limit: 10)).violation == .windows)
    #expect(Feeding([Self.brotli[...]], .brotli, memory: DecodingMemory(limit: 10)).violation == .windows)
  }

  @Test("A bomb holds no more than its window")
  func bomb() throws {
    let encoder = try #require(ZstdEncoder())
    let bomb = try encoder.encode(Data(count: 64 << 20), isLast: true)
    for (bytes, coding) in [(Array(bomb), ContentCoding.zstd), (Self.zeros, .brotli)] {
      let fed = Feeding([bytes[...]], coding, room: 32_768, keeping: 1)
      #expect(fed.violation == nil)
      #expect(fed.data.allSatisfy { $0 == 0 })
      #expect(fed.mostHeld < 17 << 20)
    }
  }

  @Test("Input without data does not continue indefinitely")
  func waste() {
    let frames = [UInt8](repeatElement(Self.skippable, count: 120_000).joined())
    // Empty blocks of metadata.
    let blocks = [0x0C] + [UInt8](repeating: 0x06, count: 1_300_000)
    for (bytes, coding) in [(frames, ContentCoding.zstd), (blocks, .brotli)] {
      let parts = stride(from: 0, to: bytes.count, by: 16_384).map { bytes[$0..<min($0 + 16_384, bytes.count)] }
      #expect(Feeding(parts, coding).violation == .wasteful)
    }
  }

  @Test("Each chunk of a request can be decoded before the next one is sent", arguments: [ContentCoding.zstd, .gzip])
  func flushes(coding: ContentCoding) throws {
    let encoder = try #require(coding.makeEncoder?())
    var (text, coded) = (Data(), Data())
    for chunk in ["first", "", "second"].map({ Data($0.utf8) }) + [Data(Self.text)] {
      text += chunk
      coded += try encoder.encode(chunk, isLast: false)
      #expect(Data(Feeding([Array(coded)[...]], coding).data) == text)
    }
  }

  @Test(
    "Requests in zstd and gzip decode to their bytes, in one piece and in many", arguments: [ContentCoding.zstd, .gzip])
  func encoders(coding: ContentCoding) throws {
    let make = try #require(coding.makeEncoder)
    for size in [0, 1, 1_000, 300_000] {
      let data = Data((0..<size).map { UInt8(truncatingIfNeeded: $0 &* $0 >> 7) })
      let whole = try #require(make()).encode(data, isLast: true)
      let encoder = try #require(make())
      var apart = Data()
      for start in stride(from: 0, to: size, by: 977) {
        apart += try encoder.encode(data[start..<min(size, start + 977)], isLast: false)
      }
      apart += try encoder.encode(Data(), isLast: true)
      for bytes in [whole, apart] {
        let fed = Feeding([Array(bytes)[...]], coding, room: 65_536)
        #expect(Data(fed.data) == data && fed.violation == nil)
      }
    }
  }
}
