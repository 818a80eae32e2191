// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import LastroEveryday

@Suite("JSON texts in pieces", .timeLimit(.minutes(5)))
struct JSONTextReaderTests {
  @Test("A text that arrives in many pieces is moved only when its buffer grows", arguments: [false, true])
  func inPlace(isSequence: Bool) throws {
    var reader = JSONTextReader(JSONStreamOptions(framing: isSequence ? .textSequence : .lines))
    reader.feed(isSequence ? [0x1E, 0x22] : [0x22])
    var moves = 0
    var place: UInt?
    for _ in 0..<4096 {
      reader.feed([UInt8](repeating: 0x61, count: 16))
      #expect(try reader.next(isAtEnd: false) == nil)
      let current = Self.place(in: reader)
      if current != place { moves += 1 }
      place = current
    }
    #expect(moves > 0 && moves < 100)
    reader.feed([0x22, 0x0A])
    #expect(try reader.next(isAtEnd: false)?.count == 2 + 16 * 4096 + (isSequence ? 1 : 0))
  }

  /// Returns the address of the longest byte array within a value.
  private static func place(in value: Any) -> UInt? {
    var longest: [UInt8] = []
    func look(_ value: Any) {
      if let bytes = value as? [UInt8] {
        if bytes.count > longest.count { longest = bytes }
      } else {
        for child in Mirror(reflecting: value).children { look(child.value) }
      }
    }
    look(value)
    return longest.withUnsafeBufferPointer { $0.baseAddress.map(UInt.init(bitPattern:)) }
  }
}
