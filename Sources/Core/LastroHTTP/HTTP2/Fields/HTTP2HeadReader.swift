// SPDX-License-Identifier: Apache-2.0

internal import CLastroHTTP2
internal import LastroWire

/// Builds heads and trailers from the header blocks that the C layer collected. A head that equals the previous one is
/// not parsed again, nor is a field that equals the field at the same position in it: a server's responses are often
/// alike.
struct HTTP2HeadReader {
  /// The latest final head. Only heads of at most 4 KiB and 32 fields are kept, and none with `set-cookie`: cookies are
  /// secrets and change between responses.
  private struct Known {
    var head: ResponseHead
    var bytes: [UInt8]
    var lengths: [Lengths]
  }

  private struct Lengths: Equatable {
    var name: Int
    var value: Int

    init(_ field: clastro_http2_field) { (name, value) = (Int(field.name_length), Int(field.value_length)) }
  }

  private static let maximumKnownBytes = 4_096
  private static let maximumKnownFields = 32

  private var known: Known?

  /// Returns the status of a head. nghttp2 has checked that it is present, comes first, and has three digits.
  static func status(of block: clastro_http2_block) -> Int? {
    guard let fields = block.fields, let bytes = block.bytes, block.count > 0 else { return nil }
    let field = fields[0]
    guard field.name_length == 7, field.value_length == 3 else { return nil }
    return (7..<10).reduce(0) { $0 * 10 + Int(bytes[$1] &- 0x30) }
  }

  /// Returns the head of a response.
  ///
  /// - Throws: ``HTTP2Violation`` of kind `field` or `tooManyFields`.
  mutating func head(
    _ block: clastro_http2_block, status: Int, maximumFields: Int
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
  static func trailers(
    _ block: clastro_http2_block, maximumFields: Int
  ) throws(HTTP2Violation) -> [ResponseHead.Field] {
    try fields(block, from: 0, maximum: maximumFields, like: nil).filter {
      !TrailerNames.areForbiddenInResponses($0.name)
    }
  }

  private static func fields(
    _ block: clastro_http2_block, from first: Int, maximum: Int, like known: Known?
  ) throws(HTTP2Violation) -> [ResponseHead.Field] {
    guard block.count - first <= maximum else {
      throw HTTP2Violation(.tooManyFields, "the response head has more than \(maximum.counted("field"))")
    }
    guard let lengths = block.fields, let start = block.bytes else { return [] }
    let bytes = UnsafeRawBufferPointer(start: start, count: block.byte_count)
    var result: [ResponseHead.Field] = []
    result.reserveCapacity(block.count - first)
    var (offset, knownOffset) = (0, 0)
    for index in 0..<block.count {
      let length = Lengths(lengths[index])
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

  private static func isSame(_ block: clastro_http2_block, _ known: Known) -> Bool {
    guard block.count == known.lengths.count, block.byte_count == known.bytes.count,
      let fields = block.fields, let bytes = block.bytes
    else { return false }
    for index in 0..<block.count where Lengths(fields[index]) != known.lengths[index] { return false }
    return known.bytes.withUnsafeBytes { $0.hasSameBytes(as: UnsafeRawBufferPointer(start: bytes, count: $0.count)) }
  }

  private mutating func keep(_ head: ResponseHead, _ block: clastro_http2_block) {
    guard block.byte_count <= Self.maximumKnownBytes, block.count <= Self.maximumKnownFields,
      let fields = block.fields, let bytes = block.bytes,
      !head.fields.contains(where: { $0.name.utf8.count == 10 && $0.name == "set-cookie" })
    else {
      known = nil
      return
    }
    known = Known(
      head: head, bytes: Array(UnsafeBufferPointer(start: bytes, count: block.byte_count)),
      lengths: UnsafeBufferPointer(start: fields, count: block.count).map(Lengths.init))
  }
}
