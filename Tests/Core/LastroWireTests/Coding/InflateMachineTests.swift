// SPDX-License-Identifier: Apache-2.0

import CLastroPrimitives
import TestSupport
import Testing

@testable import LastroWire

@Suite("Content codings", .ownThread)
struct InflateMachineTests {
  /// The result of feeding a decoder with bytes in parts, with limited room for its output.
  struct Feeding: Equatable {
    var data: [UInt8] = []
    var violation: CodingViolation.Kind?
    /// The violation reported at the end of the input.
    var end: CodingViolation.Kind?
    var mostHeld = 0

    /// - Parameter apart: the time between two parts, in nanoseconds.
    init(_ parts: [ArraySlice<UInt8>], _ codings: [InflateMachine.Format], room: Int = 64, apart: UInt64 = 0) {
      guard let decoder = ContentDecoder.chain(codings.map { InflateMachine($0) }) else { return }
      do throws(CodingViolation) {
        for (index, part) in parts.enumerated() {
          try feed(Array(part), to: decoder, room, now: UInt64(index) * apart)
        }
      } catch {
        violation = error.kind
        return
      }
      do throws(CodingViolation) { try decoder.end() } catch { end = error.kind }
    }

    private mutating func feed(
      _ part: [UInt8], to decoder: ContentDecoder, _ room: Int, now: UInt64
    ) throws(CodingViolation) {
      let space = UnsafeMutableRawBufferPointer.allocate(byteCount: room, alignment: 1)
      defer { space.deallocate() }
      try part.withBytes { bytes throws(CodingViolation) in
        var position = 0
        while true {
          let step = try decoder.decode(
            UnsafeRawBufferPointer(rebasing: bytes[position...]), into: space, now: now)
          position += step.consumed
          mostHeld = max(mostHeld, decoder.heldBytes)
          data += space[..<step.produced]
          if step.produced == 0 {
            #expect(position == bytes.count, "without output all input must be consumed")
            return
          }
        }
      }
    }

    static func == (one: Self, other: Self) -> Bool {
      one.data == other.data && one.violation == other.violation && one.end == other.end
    }
  }

  /// Reads the bytes in one piece, in every two pieces, byte by byte, and with room for one byte. All results must be
  /// equal.
  private func read(_ bytes: [UInt8], _ codings: InflateMachine.Format...) -> Feeding {
    let whole = Feeding([bytes[...]], codings)
    for cut in 0...bytes.count {
      let halves = Feeding([bytes[..<cut], bytes[cut...]], codings)
      #expect(halves == whole, "cut at \(cut)")
    }
    #expect(Feeding(bytes.indices.map { bytes[$0...$0] }, codings) == whole)
    #expect(Feeding(bytes.indices.map { bytes[$0...$0] }, codings, room: 1) == whole)
    #expect(Feeding([bytes[...]], codings, room: 1) == whole)
    return whole
  }

  private static let hello = Array("hello, hello, hello".utf8)
  private static let long = Array(String(repeating: "All happy families are alike. ", count: 40).utf8)

  @Test("gzip is decoded with and without the optional fields of its header", arguments: [Int32(0), 1, 6, 9])
  func gzip(level: Int32) {
    for header in [GzipSample.plainHeader, GzipSample.fullHeader] {
      for data in [[], Self.hello, Self.long] {
        let fed = read(GzipSample.gzip(data, level: level, header: header), .gzip)
        #expect(fed.data == data)
        #expect(fed.violation == nil && fed.end == nil)
      }
    }
  }

  @Test("gzip with several members, and with trailing zeros, is decoded")
  func members() {
    let empty = GzipSample.gzip([])
    let two = GzipSample.gzip(Self.hello) + empty + GzipSample.gzip(Self.long, header: GzipSample.fullHeader) + empty
    for bytes in [two, two + [0], two + [UInt8](repeating: 0, count: 500)] {
      let fed = read(bytes, .gzip)
      #expect(fed.data == Self.hello + Self.long)
      #expect(fed.violation == nil && fed.end == nil)
    }
  }

  @Test("Deflate is decoded in zlib format and raw", arguments: [Int32(0), 1, 6, 9])
  func deflate(level: Int32) {
    for data in [[], Self.hello, Self.long] {
      for bytes in [GzipSample.zlib(data, level: level), GzipSample.raw(data, level: level)] {
        let fed = read(bytes, .deflate)
        #expect(fed.data == data)
        #expect(fed.violation == nil && fed.end == nil)
      }
    }
  }

  @Test("An empty body is empty in any coding", arguments: [InflateMachine.Format.gzip, .deflate])
  func empty(coding: InflateMachine.Format) {
    let fed = read([], coding)
    #expect(fed.data.isEmpty && fed.violation == nil && fed.end == nil)
  }

  @Test("A truncated body is detected, wherever it ends")
  func cut() {
    let samples: [(InflateMachine.Format, [UInt8])] = [
      (.gzip, GzipSample.gzip(Self.hello, header: GzipSample.fullHeader)), (.deflate, GzipSample.zlib(Self.hello)),
      (.deflate, GzipSample.raw(Self.hello)),
    ]
    for (coding, bytes) in samples {
      for count in 1..<bytes.count {
        let fed = Feeding([bytes[..<count]], [coding])
        #expect(fed.violation == nil && fed.end == .truncated, "\(coding), \(count) of \(bytes.count)")
      }
    }
    // The second of two members is incomplete.
    let one = GzipSample.gzip(Self.hello)
    for count in 1..<one.count {
      #expect(Feeding([one[...], one[..<count]], [.gzip]).end == .truncated, "\(count) of the second")
    }
  }

  @Test("A body in another format, or with trailing data, is refused")
  func wrong() {
    let gzip = GzipSample.gzip(Self.hello)
    let zlib = GzipSample.zlib(Self.hello)
    let raw = GzipSample.raw(Self.hello)
    func changed(_ bytes: [UInt8], at index: Int) -> [UInt8] {
      var bytes = bytes
      bytes[index < 0 ? bytes.count + index : index] ^= 0x55
      return bytes
    }
    let text = Array("this is no compressed text at all".utf8)
    let cases: [(InflateMachine.Format, [UInt8], CodingViolation.Kind)] = [
      (.gzip, text, .corrupt), (.deflate, text, .corrupt), (.gzip, zlib, .corrupt), (.deflate, gzip, .corrupt),
      (.gzip, changed(gzip, at: -1), .corrupt), (.gzip, changed(gzip, at: -5), .corrupt),
      (.gzip, changed(GzipSample.gzip(Self.hello, header: GzipSample.fullHeader), at: 5), .corrupt),
      (.gzip, changed(gzip, at: 3), .corrupt), (.deflate, changed(zlib, at: -1), .corrupt),
      // The data needs a dictionary that was not agreed on.
      (.deflate, [0x78, 0xBB] + zlib.dropFirst(2), .corrupt),
      (.gzip, gzip + text, .trailing), (.gzip, gzip + [0x1F, 0], .corrupt), (.gzip, gzip + [0] + gzip, .trailing),
      (.gzip, gzip + [0, 1], .trailing),
      (.deflate, zlib + [0], .trailing), (.deflate, zlib + zlib, .trailing), (.deflate, raw + [0], .trailing),
    ]
    for (coding, bytes, kind) in cases { #expect(read(bytes, coding).violation == kind, "\(coding) \(bytes)") }
    let padded = gzip + [UInt8](repeating: 0, count: 65_537)
    #expect(Feeding([padded.dropLast()], [.gzip]).violation == nil)
    #expect(Feeding([padded[...]], [.gzip]).violation == .trailing)
  }

  @Test("Several codings are decoded in reverse order of application")
  func several() {
    let twice = GzipSample.gzip(GzipSample.zlib(Self.long))
    let fed = read(twice, .deflate, .gzip)
    #expect(fed.data == Self.long && fed.violation == nil && fed.end == nil)
    #expect(Feeding([twice[...]], [.gzip, .deflate]).violation == .corrupt)
    #expect(Feeding([twice.dropLast(3)], [.deflate, .gzip]).end == .truncated)
    // The outer coding is complete, but its content is not.
    #expect(
      Feeding([GzipSample.gzip(GzipSample.zlib(Self.long).dropLast(3))[...]], [.deflate, .gzip]).end == .truncated)
  }

  @Test("Memory is bounded by the window and the tables of each coding, and a buffer between two")
  func memory() {
    let megabytes = [UInt8](repeating: 7, count: 8 << 20)
    let once = Feeding([GzipSample.gzip(megabytes)[...]], [.gzip], room: 32_768)
    #expect(once.data.count == megabytes.count)
    #expect((32_768...65_536).contains(once.mostHeld))
    let thrice = GzipSample.gzip(GzipSample.zlib(GzipSample.raw(megabytes)))
    let fed = Feeding([thrice[...]], [.deflate, .deflate, .gzip], room: 32_768)
    #expect(fed.data.count == megabytes.count)
    #expect(fed.mostHeld <= 3 * 65_536 + 2 * 16_384)
  }

  @Test("Input without output does not continue indefinitely: header names, empty members, empty blocks")
  func waste() {
    let name = Array(GzipSample.plainHeader[..<3]) + [8, 0, 0, 0, 0, 0, 3] + [UInt8](repeating: 0x61, count: 2 << 20)
    let members = Array(repeatElement(GzipSample.gzip([]), count: 100_000).joined())
    let blocks = GzipSample.plainHeader + repeatElement([0, 0, 0, 0xFF, 0xFF], count: 300_000).joined()
    for bytes in [name, members, blocks] {
      var rest = bytes[...]
      var parts: [ArraySlice<UInt8>] = []
      while !rest.isEmpty {
        parts.append(rest.prefix(16_384))
        rest = rest.dropFirst(16_384)
      }
      #expect(Feeding(parts, [.gzip]).violation == .wasteful)
    }
    // Occasional flushes are not a flood, however long the body lasts.
    let flush: [UInt8] = [0, 0, 0, 0xFF, 0xFF]
    let flushes = [GzipSample.plainHeader[...]] + [ArraySlice<UInt8>](repeating: flush[...], count: 300_000)
    #expect(Feeding(flushes, [.gzip], apart: 1_000_000).violation == nil)
    // A flush after each byte is not rejected either.
    let flushed = GzipSample.plainHeader + repeatElement([0, 1, 0, 0xFE, 0xFF, 0x61], count: 400_000).joined()
    #expect(Feeding([flushed[...]], [.gzip], room: 32_768).data.count == 400_000)
  }

  @Test("Random data, cut, changed and split at random, decodes as with zlib in one call", arguments: 0..<8)
  func fuzz(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    func number(_ count: Int) -> Int { Int(random.next() % UInt64(count)) }
    for _ in 0..<600 {
      let alphabet = 1 + number(256)
      let data = (0..<number(3_000)).map { _ in UInt8(truncatingIfNeeded: number(alphabet)) }
      let level = Int32(number(10))
      let isGzip = number(2) == 0
      var bytes =
        isGzip
        ? GzipSample.gzip(data, level: level, header: number(2) == 0 ? GzipSample.plainHeader : GzipSample.fullHeader)
        : number(2) == 0 ? GzipSample.zlib(data, level: level) : GzipSample.raw(data, level: level)
      if isGzip, number(3) == 0 { bytes += GzipSample.gzip(data.reversed()) }
      switch number(4) {
      case 0: bytes[number(bytes.count)] = UInt8(truncatingIfNeeded: random.next())
      case 1: bytes.removeLast(number(bytes.count))
      case 2 where number(4) == 0: bytes.append(UInt8(number(2)))
      default: break
      }
      var rest = bytes[...]
      var parts: [ArraySlice<UInt8>] = []
      while !rest.isEmpty {
        let count = 1 + number(700)
        parts.append(rest.prefix(count))
        rest = rest.dropFirst(count)
      }
      let fed = Feeding(parts, [isGzip ? .gzip : .deflate], room: 1 + number(2_000))
      let expected = GzipSample.decode(bytes, as: isGzip ? .gzip : .deflate, room: 1 << 20)
      let read = fed.violation == nil && fed.end == nil ? fed.data : nil
      #expect(read == expected)
    }
  }

  @Test(
    "Content-Encoding is a case-insensitive list, and identity means none",
    arguments: [
      (["gzip"], ["gzip"]), (["X-GZip"], ["x-gzip"]), ([], []), ([""], []), (["identity"], []),
      (["identity, Identity"], []), (["identity,gzip"], ["gzip"]), (["none"], []), (["UTF-8"], []),
      (["aws-chunked"], []), (["aws-chunked,gzip"], ["gzip"]), (["utf-16"], ["utf-16"]),
      (["gzip", "deflate"], ["gzip", "deflate"]), ([" gzip\t, , deflate,"], ["gzip", "deflate"]), (["BR"], ["br"]),
      (["gzip;q=1"], ["gzip;q=1"]), (["gzip deflate"], ["gzip deflate"]),
    ])
  func list(_ values: [String], _ codings: [String]) {
    #expect(ContentEncodingField.codings(of: Self.head(values)) == codings)
  }

  @Test(
    "A strict reader reports empty members and names that are not codings",
    arguments: [
      (["gzip"], ["gzip"]), ([], []), ([""], [""]), (["identity"], []), (["gzip,"], ["gzip", ""]), (["None"], ["none"]),
      (["aws-chunked, identity"], ["aws-chunked"]), (["UTF-8", "gzip"], ["utf-8", "gzip"]),
    ])
  func strictList(_ values: [String], _ codings: [String]) {
    #expect(ContentEncodingField.codings(of: Self.head(values), isStrict: true) == codings)
  }

  private static func head(_ values: [String]) -> ResponseHead {
    let fields = values.map { ResponseHead.Field(name: "content-Encoding", value: $0) }
    return ResponseHead(version: (1, 1), status: 200, reason: "", fields: fields)
  }
}

/// Compressed test data, created with zlib's compressor.
private enum GzipSample {
  /// Returns raw deflate data (RFC 1951).
  static func raw(_ data: [UInt8], level: Int32 = 6) -> [UInt8] {
    var stream = z_stream()
    guard clastro_deflate_init(&stream, level, 15) == Z_OK else { return [] }
    defer { deflateEnd(&stream) }
    var data = data
    return data.withUnsafeMutableBufferPointer { input in
      stream.next_in = input.baseAddress
      stream.avail_in = UInt32(input.count)
      let room = input.count + input.count / 8 + 256
      return [UInt8](unsafeUninitializedCapacity: room) { space, count in
        stream.next_out = space.baseAddress
        stream.avail_out = UInt32(room)
        _ = deflate(&stream, Z_FINISH)
        count = room - Int(stream.avail_out)
      }
    }
  }

  /// Returns data in the zlib format (RFC 1950).
  static func zlib(_ data: [UInt8], level: Int32 = 6) -> [UInt8] {
    let sum = UInt32(adler32(1, data, UInt32(data.count)))
    return [0x78, 0x9C] + raw(data, level: level) + [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: sum >> $0) }
  }

  /// Returns one gzip member (RFC 1952).
  static func gzip(_ data: [UInt8], level: Int32 = 6, header: [UInt8] = plainHeader) -> [UInt8] {
    let sum = UInt32(crc32(0, data, UInt32(data.count)))
    return header + raw(data, level: level) + little(sum, 4) + little(UInt32(data.count), 4)
  }

  static let plainHeader: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3]

  /// A gzip header with every optional field (RFC 1952 §2.3): extra field, name, comment, header checksum.
  static let fullHeader: [UInt8] = {
    let head: [UInt8] =
      [0x1F, 0x8B, 8, 0x1E, 1, 2, 3, 4, 2, 3] + [6, 0, 0x41, 0x70, 2, 0, 9, 9] + Array("name\0".utf8)
      + Array("a comment\0".utf8)
    return head + little(UInt32(crc32(0, head, UInt32(head.count))), 2)
  }()

  private static func little(_ value: UInt32, _ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
  }

  /// Decodes with another reader: zlib in one call for each member, with all of the input and room for all of the
  /// output.
  ///
  /// - Returns: the data; `nil` if the bytes are corrupt or incomplete, or are followed by other bytes.
  static func decode(_ bytes: [UInt8], as format: InflateFormat, room: Int) -> [UInt8]? {
    var rest = bytes[...]
    var result: [UInt8] = []
    while !rest.isEmpty {
      guard let inflater = clastro_inflater_make(format.door(rest)) else { return nil }
      defer { clastro_inflater_free(inflater) }
      var space = [UInt8](repeating: 0, count: room)
      let input = Array(rest)
      let step = clastro_inflater_run(inflater, input, input.count, &space, room)
      guard step.status == Z_STREAM_END else { return nil }
      result += space[..<step.produced]
      rest = rest.dropFirst(step.consumed)
      guard format == .gzip else { return rest.isEmpty ? result : nil }
      if rest.first == 0 { return rest.allSatisfy { $0 == 0 } ? result : nil }
    }
    return result
  }

  enum InflateFormat: Sendable {
    case gzip, deflate

    fileprivate func door(_ bytes: ArraySlice<UInt8>) -> clastro_format {
      if self == .gzip { return CLASTRO_GZIP }
      let head = Array(bytes.prefix(2))
      let isZlib =
        head.count == 2 && head[0] & 15 == 8 && head[0] < 0x80 && (Int(head[0]) * 256 + Int(head[1])) % 31 == 0
      return isZlib ? CLASTRO_ZLIB : CLASTRO_RAW
    }
  }
}
