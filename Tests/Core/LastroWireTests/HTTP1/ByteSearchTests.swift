// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import LastroWire

/// A search over eight bytes at a time finds the same bytes as a search over single bytes.
@Suite("Searching bytes, eight at a time")
struct ByteSearchTests {
  @Test("Every byte is found at every position, alone and beside its neighbours")
  func values() {
    // `#expect` is slow, and this loop is long.
    var (cases, wrong) = (0, [[UInt8]]())
    for length in [1, 7, 8, 9, 17] {
      for place in 0..<length {
        for byte in UInt8.min...UInt8.max {
          for other in [0x20, 0x61, 0x80, 0xFF, 0x09] as [UInt8] {
            var bytes = [UInt8](repeating: other, count: length)
            bytes[place] = byte
            let (isValid, isASCII) = bytes.withUnsafeBytes { $0.isFieldValue() }
            let lineFeed = bytes.withUnsafeBytes { $0.firstLineFeed(from: 0) }
            let isRight =
              isValid == bytes.allSatisfy(FieldSyntax.isValue) && lineFeed == bytes.firstIndex(of: 0x0A)
              && (!isValid || isASCII == bytes.allSatisfy { $0 < 0x80 })
            cases += 1
            if !isRight { wrong.append(bytes) }
          }
        }
      }
    }
    #expect(cases == 42 * 256 * 5)
    #expect(wrong.isEmpty)
  }

  @Test("The first LF is found from every position, whatever precedes it")
  func lineFeeds() {
    var (cases, wrong) = (0, [String]())
    for first in 0..<20 {
      for second in first..<20 {
        var bytes = [UInt8](repeating: 0x0B, count: 20)
        (bytes[first], bytes[second]) = (0x0A, 0x0A)
        for start in 0...20 {
          let found = bytes.withUnsafeBytes { $0.firstLineFeed(from: start) }
          cases += 1
          if found != bytes[start...].firstIndex(of: 0x0A) { wrong.append("\(first), \(second) from \(start)") }
        }
      }
    }
    #expect(cases == 210 * 21)
    #expect(wrong.isEmpty)
  }

  @Test("The length of the common prefix of two texts is computed")
  func prefixes() {
    let text = (0..<80).map { UInt8($0) }
    var (cases, wrong) = (0, [String]())
    for length in 0...80 {
      for place in 0..<80 {
        var other = text
        other[place] ^= 0x80
        let common = text.prefix(length).withUnsafeBytes { own in other.withUnsafeBytes { own.commonPrefix($0) } }
        cases += 1
        if common != min(length, place) { wrong.append("\(common) of \(length), \(place)") }
      }
    }
    #expect(cases == 81 * 80)
    #expect(wrong.isEmpty)
    let nothing = UnsafeRawBufferPointer(start: nil, count: 0)
    #expect(nothing.commonPrefix(nothing) == 0)
  }

  @Test("The token characters are those of RFC 9110 §5.6.2")
  func tokens() {
    let tokens = Set("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ".utf8)
    for byte in UInt8.min...UInt8.max { #expect(FieldSyntax.isToken(byte) == tokens.contains(byte)) }
  }
}
