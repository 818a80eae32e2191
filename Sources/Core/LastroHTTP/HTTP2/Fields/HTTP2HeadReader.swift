// SPDX-License-Identifier: Apache-2.0

internal import LastroWire

/// Builds heads and trailers from the blocks of fields that nghttp2 decoded. A head that equals the previous one is not
/// parsed again, nor is a field that equals the field at the same position in it: a server's responses are often alike.
struct HTTP2HeadReader {
  /// The latest final head. Only heads of at most 4 KiB and 32 fields are kept, and none with `set-cookie`: cookies are
  /// secrets and change between responses.
  private struct Known {
    var head: ResponseHead
    var bytes: [UInt8]
    var lengths: [HTTP2Block.Lengths]
  }

  private static let maximumKnownBytes = 4_096
  private static let maximumKnownFields = 32

  private var known: Known?

  /// Returns the status of a head. nghttp2 has checked that it is present, comes first, and has three digits.
  static func status(of block: HTTP2Block) -> Int? {
    guard let first = block.lengths.first, first.name == 7, first.value == 3 else { return nil }
    return block.bytes[7..<10].reduce(0) { $0 * 10 + Int($1 &- 0x30) }
  }

  /// Returns the head of a response.
  ///
  /// - Throws: ``HTTP2Violation`` of kind `field` or `tooManyFields`.
  mutating func head(
    _ block: HTTP2Block, status: Int, maximumFields: Int
  ) throws(HTTP2Violation) -> ResponseHead {
    if let known, Self.isSame(block, known) { return known.head }
    let fields = try Self.fields(block, from: 1, maximum: maximumFields, like: known)
    let head = ResponseHead(version: (2, 0), status: status, reason: "", fields: fields)
    if status >= 200 { keep(head, block) }
    return head
  }

  /// Returns the trailers of a response, without fields that are forbidden there.
  ///
  /// - Throws: ``HTTP2Violation`` of kind `field` or `tooManyFields`.
  static func trailers(_ block: HTTP2Block, maximumFields: Int) throws(HTTP2Violation) -> [ResponseHead.Field] {
    try fields(block, from: 0, maximum: maximumFields, like: nil).filter {
      !TrailerNames.areForbiddenInResponses($0.name)
    }
  }

  private static func fields(
    _ block: HTTP2Block, from first: Int, maximum: Int, like known: Known?
  ) throws(HTTP2Violation) -> [ResponseHead.Field] {
    guard block.lengths.count - first <= maximum else {
      throw HTTP2Violation(.tooManyFields, "the response head has more than \(maximum.counted("field"))")
    }
    var result: [ResponseHead.Field] = []
    result.reserveCapacity(block.lengths.count - first)
    var (offset, knownOffset) = (0, 0)
    try block.bytes.withBytes { bytes throws(HTTP2Violation) in
      for (index, length) in block.lengths.enumerated() {
        let end = offset + length.name + length.value
        defer { offset = end }
        if let known, index < known.lengths.count {
          let (start, other) = (knownOffset, known.lengths[index])
          knownOffset += other.name + other.value
          if index >= first, other == length, isSame(bytes[offset..<end], known, start..<knownOffset) {
            result.append(known.head.fields[index - 1])
            continue
          }
        }
        if index >= first { result.append(try field(bytes[offset..<end], length.name)) }
      }
    }
    return result
  }

  private static func field(
    _ bytes: Slice<UnsafeRawBufferPointer>, _ nameLength: Int
  ) throws(HTTP2Violation) -> ResponseHead.Field {
    do throws(HeadViolation) {
      return ResponseHead.Field(
        name: FieldLine.text(UnsafeRawBufferPointer(rebasing: bytes.prefix(nameLength))),
        value: try FieldLine.value(UnsafeRawBufferPointer(rebasing: bytes.dropFirst(nameLength))))
    } catch { throw HTTP2Violation(.field, error.message) }
  }

  private static func isSame(_ bytes: Slice<UnsafeRawBufferPointer>, _ known: Known, _ range: Range<Int>) -> Bool {
    known.bytes.withUnsafeBytes {
      UnsafeRawBufferPointer(rebasing: $0[range]).hasSameBytes(as: UnsafeRawBufferPointer(rebasing: bytes))
    }
  }

  private static func isSame(_ block: HTTP2Block, _ known: Known) -> Bool {
    block.lengths == known.lengths
      && known.bytes.withBytes { known in block.bytes.withBytes { $0.hasSameBytes(as: known) } }
  }

  private mutating func keep(_ head: ResponseHead, _ block: HTTP2Block) {
    guard block.bytes.count <= Self.maximumKnownBytes, block.lengths.count <= Self.maximumKnownFields,
      !head.fields.contains(where: { $0.name.utf8.count == 10 && $0.name == "set-cookie" })
    else {
      known = nil
      return
    }
    known = Known(head: head, bytes: block.bytes, lengths: block.lengths)
  }
}
