// SPDX-License-Identifier: Apache-2.0

import CLoopback

/// The encoding of HTTP/2 header blocks (RFC 7541).
package enum HeaderBlock {
  package typealias Field = RawRequestHead.Field

  /// Encodes fields as literals without indexing and without Huffman coding (RFC 7541 §6.2.2).
  static func encoded(_ fields: [Field]) -> [UInt8] {
    fields.flatMap { [0x00] + string($0.name) + string($0.value) }
  }

  private static func string(_ text: String) -> [UInt8] {
    let bytes = Array(text.utf8)
    return integer(bytes.count, prefix: 7) + bytes
  }

  /// Encodes an integer (RFC 7541 §5.1).
  private static func integer(_ value: Int, prefix: Int) -> [UInt8] {
    let limit = 1 << prefix - 1
    if value < limit { return [UInt8(value)] }
    var bytes = [UInt8(limit)]
    var rest = value - limit
    while rest >= 128 {
      bytes.append(UInt8(rest & 127 | 128))
      rest >>= 7
    }
    return bytes + [UInt8(rest)]
  }

  /// A decoder for the blocks of one connection, in order.
  package final class Decoder {
    private final class Found {
      var fields: [Field] = []
    }

    private let pointer: OpaquePointer

    package init() throws(LoopbackError) {
      guard let made = cloopback_hpack_new() else { throw .outOfResources("an HPACK decoder could not be made") }
      pointer = made
    }

    deinit { cloopback_hpack_free(pointer) }

    package func decode(_ block: [UInt8]) throws(LoopbackError) -> [Field] {
      let found = Found()
      let isGood = cloopback_hpack_decode(
        pointer, block, block.count,
        { context, name, nameCount, value, valueCount in
          let found = Unmanaged<Found>.fromOpaque(context).takeUnretainedValue()
          let name = String(decoding: UnsafeBufferPointer(start: name, count: nameCount), as: UTF8.self)
          let value = String(decoding: UnsafeBufferPointer(start: value, count: valueCount), as: UTF8.self)
          found.fields.append(Field(name: name, value: value))
        }, Unmanaged.passUnretained(found).toOpaque())
      guard isGood else { throw .malformedRequest("its header block is not HPACK") }
      return found.fields
    }
  }
}
