// SPDX-License-Identifier: Apache-2.0

/// The rules for characters that are allowed only next to certain others (RFC 5892 appendix A).
///
/// Scripts are identified by their blocks.
package enum LabelContext {
  package static func isContextual(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x200C, 0x200D, 0xB7, 0x375, 0x5F3, 0x5F4, 0x30FB: true
    default: false
    }
  }

  /// Returns whether the character at `index` is allowed in its context.
  package static func isSatisfied(at index: Int, of label: [Unicode.Scalar]) -> Bool {
    let before = index > 0 ? label[index - 1] : nil
    let after = index + 1 < label.count ? label[index + 1] : nil
    return switch label[index].value {
    // A.1 and A.2.
    case 0x200C: before?.isVirama == true || joins(label, around: index)
    case 0x200D: before?.isVirama == true
    // A.3 to A.7.
    case 0xB7: before == "l" && after == "l"
    case 0x375: after.map(isGreek) ?? false
    case 0x5F3, 0x5F4: before.map { 0x591...0x5F4 ~= $0.value } ?? false
    case 0x30FB: label.contains(where: isJapanese)
    default: true
    }
  }

  private static func isGreek(_ scalar: Unicode.Scalar) -> Bool {
    0x370...0x3FF ~= scalar.value || 0x1F00...0x1FFF ~= scalar.value
  }

  /// Returns whether a character is Hiragana, Katakana or Han.
  private static func isJapanese(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x3041...0x309F, 0x30A1...0x30FA, 0x30FC...0x30FF, 0x31F0...0x31FF, 0x3005...0x3007: true
    default: scalar.properties.isIdeographic
    }
  }

  /// Returns whether the second rule of A.1 holds: the non-joiner follows a letter that joins forwards and precedes one
  /// that joins backwards. Marks in between are skipped. Only the Arabic block is supported, because its letters have
  /// few joining types.
  private static func joins(_ label: [Unicode.Scalar], around index: Int) -> Bool {
    let isLetter = { (scalar: Unicode.Scalar) in scalar.properties.generalCategory != .nonspacingMark }
    guard let before = label[..<index].last(where: isLetter), let after = label[(index + 1)...].first(where: isLetter)
    else { return false }
    return isDualJoining(before.value) && (isDualJoining(after.value) || isRightJoining(after.value))
  }

  private static func isDualJoining(_ value: UInt32) -> Bool {
    switch value {
    case 0x621, 0x640, 0x674, 0x6D4...0x6ED, 0x6F0...0x6F9: false
    case 0x620...0x64A, 0x66E...0x6FF: !isRightJoining(value)
    default: false
    }
  }

  private static func isRightJoining(_ value: UInt32) -> Bool {
    switch value {
    case 0x622...0x625, 0x627, 0x629, 0x62F...0x632, 0x648, 0x671...0x673, 0x675...0x677, 0x688...0x699, 0x6C0,
      0x6C3...0x6CB, 0x6CD, 0x6CF, 0x6D2, 0x6D3, 0x6D5, 0x6EE, 0x6EF:
      true
    default: false
    }
  }
}

extension Unicode.Scalar {
  /// Whether the canonical combining class is 9.
  fileprivate var isVirama: Bool { properties.canonicalCombiningClass.rawValue == 9 }
}
