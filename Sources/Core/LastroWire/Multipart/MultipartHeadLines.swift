// SPDX-License-Identifier: Apache-2.0

/// Parses the head of a part line by line (RFC 2046 §5.1): fields as in HTTP, which may be folded.
struct MultipartHeadLines: Sendable {
  private var lines: [[UInt8]] = []
  /// The size of all lines so far in bytes.
  private var size = 0

  /// Consumes lines. Returns the fields at the empty line, and `nil` if more bytes are needed.
  mutating func consume(
    from buffer: [UInt8], at position: inout Int, _ limits: MultipartMachine.Limits
  ) throws(MultipartViolation) -> [ResponseHead.Field]? {
    while let feed = buffer.withBytes({ $0.firstLineFeed(from: position) }) {
      guard feed > position, buffer[feed - 1] == 0x0D else { throw .bareLineFeed("the line of a field") }
      let line = buffer[position..<feed - 1]
      size += feed + 1 - position
      try check(size, limits)
      position = feed + 1
      if line.isEmpty { return try fields() }
      try add(line, limits)
    }
    try check(size + buffer.count - position, limits)
    return nil
  }

  private func check(_ size: Int, _ limits: MultipartMachine.Limits) throws(MultipartViolation) {
    guard size > limits.headBytes else { return }
    throw MultipartViolation(.headTooLarge, "the head of a part exceeds \(limits.headBytes.counted("byte"))")
  }

  private mutating func add(_ line: ArraySlice<UInt8>, _ limits: MultipartMachine.Limits) throws(MultipartViolation) {
    guard let first = line.first, first.isSpace else {
      guard lines.count < limits.fields else {
        throw MultipartViolation(.tooManyFields, "the head of a part has more than \(limits.fields.counted("field"))")
      }
      lines.append(Array(line))
      return
    }
    guard let last = lines.indices.last else {
      throw MultipartViolation(.field, "the head of a part begins with a blank")
    }
    lines[last] += [0x20] + line.drop(while: \.isSpace)
  }

  private func fields() throws(MultipartViolation) -> [ResponseHead.Field] {
    var fields: [ResponseHead.Field] = []
    for line in lines {
      do throws(HeadViolation) {
        fields.append(try line.withBytes { (bytes) throws(HeadViolation) in try FieldLine.parse(bytes) })
      } catch {
        throw MultipartViolation(.field, "in the head of a part, \(error.message)")
      }
    }
    return fields
  }
}
