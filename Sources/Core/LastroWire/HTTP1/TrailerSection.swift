// SPDX-License-Identifier: Apache-2.0

/// The fields after the last chunk, up to the empty line (RFC 9112 §7.1.2). Lines end in CRLF; folded lines are
/// rejected.
package struct TrailerSection {
  private let maximumBytes: Int
  private let maximumFields: Int
  private var line: [UInt8] = []
  private var bytes = 0
  private var count = 0
  private(set) var fields: [ResponseHead.Field] = []

  init(maximumBytes: Int, maximumFields: Int) {
    self.maximumBytes = maximumBytes
    self.maximumFields = maximumFields
  }

  /// Reads bytes from `position` on. Returns whether the section has ended.
  mutating func consume(_ input: UnsafeRawBufferPointer, from position: inout Int) throws(HeadViolation) -> Bool {
    while position < input.count {
      let rest = input[position...]
      let end = rest.firstIndex(of: 0x0A).map { $0 + 1 } ?? rest.endIndex
      bytes += end - position
      guard bytes <= maximumBytes else {
        throw HeadViolation(.headTooLarge, "the trailers of the response exceed \(maximumBytes.counted("byte"))")
      }
      line += rest[..<end]
      position = end
      guard line.last == 0x0A else { return false }
      guard line.count >= 2, line[line.count - 2] == 0x0D else {
        throw HeadViolation(.lineEnd, "a trailer line ends without CR")
      }
      if line.count == 2 { return true }
      try add()
      line.removeAll(keepingCapacity: true)
    }
    return false
  }

  private mutating func add() throws(HeadViolation) {
    count += 1
    guard count <= maximumFields else {
      throw HeadViolation(.tooManyFields, "the response has more than \(maximumFields.counted("trailer field"))")
    }
    guard line[0] != 0x20, line[0] != 0x09 else {
      throw HeadViolation(.fieldName, "a trailer line is folded")
    }
    let field = try line.withBytes { bytes throws(HeadViolation) in
      try FieldLine.parse(UnsafeRawBufferPointer(rebasing: bytes.dropLast(2)))
    }
    if !TrailerNames.areForbiddenInResponses(field.name) { fields.append(field) }
  }
}
