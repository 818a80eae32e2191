// SPDX-License-Identifier: Apache-2.0

extension UInt8 {
  /// Whether the byte is a space or a tab (OWS, RFC 9110 §5.6.3).
  var isSpace: Bool { self == 0x20 || self == 0x09 }
}

extension BidirectionalCollection<UInt8> {
  /// The collection without leading and trailing spaces and tabs.
  var withoutSpaces: SubSequence {
    guard let first = firstIndex(where: { !$0.isSpace }),
      let last = lastIndex(where: { !$0.isSpace })
    else { return self[endIndex...] }
    return self[first...last]
  }
}
