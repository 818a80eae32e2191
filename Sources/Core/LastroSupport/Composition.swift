// SPDX-License-Identifier: Apache-2.0

/// Normalization form C (UAX 15) of labels. It uses only the standard library's properties of scalars and its string
/// equality, which is canonical equivalence.
///
/// It supports scalars that NFKC case folding does not change, as in labels. None of them is a singleton or a
/// composition exclusion. Each is therefore in NFC on its own, and a pair composes exactly if one of them is equal to
/// it.
package enum Composition {
  /// Returns the label in NFC; `nil` if that would require decompositions, which the standard library does not provide.
  package static func nfc(_ label: [Unicode.Scalar]) -> [Unicode.Scalar]? {
    guard label.contains(where: mayFollow) else { return label }
    var result: [Unicode.Scalar] = []
    /// The index of the last starter, and the combining class of the latest scalar after it; 0 if there is none.
    var starter: Int?
    var between: UInt8 = 0
    /// The last starter as it was written, before composition.
    var written: Unicode.Scalar = "a"
    for scalar in ordered(label) {
      let order = scalar.canonicalOrder
      if let starter, starter == result.count - 1 || between < order {
        if let composite = composite(result[starter], scalar) {
          result[starter] = composite
          continue
        }
        guard !isUncertain(written, scalar) else { return nil }
      }
      if order == 0 {
        starter = result.count
        written = scalar
      }
      between = order
      result.append(scalar)
    }
    return result
  }

  /// Returns the label with combining marks in canonical order (Unicode 3.11).
  private static func ordered(_ label: [Unicode.Scalar]) -> [Unicode.Scalar] {
    var label = label
    for index in label.indices.dropFirst() where label[index].canonicalOrder != 0 {
      var place = index
      while place > 0, label[place - 1].canonicalOrder > label[place].canonicalOrder {
        label.swapAt(place - 1, place)
        place -= 1
      }
    }
    return label
  }

  /// Returns whether a scalar may compose with a preceding one, or may have to be reordered. This applies to marks, and
  /// to the only letter that composes (U+16D67).
  private static func mayFollow(_ scalar: Unicode.Scalar) -> Bool {
    scalar.value >= 0x300 && (scalar.isCombiningMark || scalar.value == 0x16D67)
  }

  /// Returns whether `first`, as it was written, may contain a mark that comes after `second` in canonical order. It
  /// would then have to be decomposed. This is possible for marks of a low class that compose with letters.
  private static func isUncertain(_ first: Unicode.Scalar, _ second: Unicode.Scalar) -> Bool {
    switch second.value {
    case 0x31B, 0x323...0x328, 0x32D, 0x32E, 0x330, 0x331, 0x338:
      0xC0...0x24F ~= first.value || 0x370...0x52F ~= first.value || 0x1E00...0x1FFF ~= first.value
    // The iota subscript comes last.
    case 0x300...0x345: 0x1F80...0x1FFF ~= first.value
    case 0x655: 0x622...0x6D3 ~= first.value && !isPlainArabic(first)
    default: false
    }
  }

  private static func isPlainArabic(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x622...0x626, 0x6C0, 0x6C2, 0x6D3: false
    default: true
    }
  }

  private static func composite(_ first: Unicode.Scalar, _ second: Unicode.Scalar) -> Unicode.Scalar? {
    guard mayFollow(second), let block = block(of: first) else { return nil }
    var pair = String.UnicodeScalarView()
    pair.append(first)
    pair.append(second)
    return cache.withLock { blocks in
      if blocks[block] == nil { blocks[block] = table(of: block) }
      return blocks[block]?[String(pair)]
    }
  }

  /// Returns the block that has the composites of a letter: a single block for Latin, Greek and Cyrillic, otherwise the
  /// letter's 256 scalars. It returns `nil` for other ranges, such as Han and Hangul, which compose with no mark.
  private static func block(of scalar: Unicode.Scalar) -> UInt32? {
    switch scalar.value {
    case ..<0x530, 0x1D00..<0x2000: 0
    case 0x530..<0x3100, 0x11000..<0x17000: scalar.value >> 8
    default: nil
    }
  }

  /// The tables of composites, at most one for each block.
  private static let cache = Lock<[UInt32: [String: Unicode.Scalar]]>([:])

  private static func table(of block: UInt32) -> [String: Unicode.Scalar] {
    let ranges = block == 0 ? [0xC0...0x52F, 0x1E00...0x1FFF] : [block << 8...(block << 8 | 0xFF)]
    var table: [String: Unicode.Scalar] = [:]
    for scalar in ranges.joined().lazy.compactMap({ Unicode.Scalar($0) })
    where !scalar.properties.changesWhenNFKCCaseFolded {
      table[String(scalar)] = scalar
    }
    return table
  }
}

extension Unicode.Scalar {
  /// The canonical combining class.
  fileprivate var canonicalOrder: UInt8 { properties.canonicalCombiningClass.rawValue }

  /// Whether the scalar combines with the preceding one (general category M without enclosing marks, which names do not
  /// have).
  fileprivate var isCombiningMark: Bool {
    switch properties.generalCategory {
    case .nonspacingMark, .spacingMark: true
    default: false
    }
  }
}
