// SPDX-License-Identifier: Apache-2.0

import CLastroZlib

/// Compressed data for tests, by zlib's other half.
enum GzipSample {
  /// Bare deflate data (RFC 1951).
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

  /// RFC 1950.
  static func zlib(_ data: [UInt8], level: Int32 = 6) -> [UInt8] {
    let sum = UInt32(adler32(1, data, UInt32(data.count)))
    return [0x78, 0x9C] + raw(data, level: level) + [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: sum >> $0) }
  }

  /// A member (RFC 1952).
  static func gzip(_ data: [UInt8], level: Int32 = 6, header: [UInt8] = plainHeader) -> [UInt8] {
    let sum = UInt32(crc32(0, data, UInt32(data.count)))
    return header + raw(data, level: level) + little(sum, 4) + little(UInt32(data.count), 4)
  }

  static let plainHeader: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3]

  /// With every optional field (RFC 1952 §2.3): extra field, name, comment, checksum of the header.
  static let fullHeader: [UInt8] = {
    let head: [UInt8] =
      [0x1F, 0x8B, 8, 0x1E, 1, 2, 3, 4, 2, 3] + [6, 0, 0x41, 0x70, 2, 0, 9, 9] + Array("name\0".utf8)
      + Array("a comment\0".utf8)
    return head + little(UInt32(crc32(0, head, UInt32(head.count))), 2)
  }()

  private static func little(_ value: UInt32, _ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
  }

  /// Another reader: zlib in one call for each member, with all of the input and room for all of the output.
  ///
  /// - Returns: `nil` for what is corrupt or not whole, or has something behind it.
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
