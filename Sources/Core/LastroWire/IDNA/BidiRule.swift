// SPDX-License-Identifier: Apache-2.0

/// The Bidi rule (RFC 5893 §2) for labels that consist of letters, marks, digits and hyphens.
///
/// Directions are derived from the ranges that Unicode reserves for right-to-left scripts (DerivedBidiClass.txt,
/// `@missing`).
package enum BidiRule {
  private enum Direction {
    case leftToRight, rightToLeft, europeanNumber, arabicNumber, nonspacingMark, neutral
  }

  /// Returns whether all labels of a name satisfy the rule. It applies only if a label has a character of a
  /// right-to-left script.
  package static func isSatisfied(by labels: [[Unicode.Scalar]]) -> Bool {
    let directions = labels.map { $0.map(direction) }
    guard directions.contains(where: { $0.contains { $0 == .rightToLeft || $0 == .arabicNumber } }) else { return true }
    return directions.allSatisfy(isSatisfied)
  }

  private static func isSatisfied(by label: [Direction]) -> Bool {
    let end = label.last { $0 != .nonspacingMark }
    switch label.first {
    case .rightToLeft:
      return !label.contains(.leftToRight) && !(label.contains(.europeanNumber) && label.contains(.arabicNumber))
        && (end == .rightToLeft || end == .europeanNumber || end == .arabicNumber)
    case .leftToRight:
      return !label.contains(.rightToLeft) && !label.contains(.arabicNumber)
        && (end == .leftToRight || end == .europeanNumber)
    default: return false
    }
  }

  private static func direction(_ scalar: Unicode.Scalar) -> Direction {
    let category = scalar.properties.generalCategory
    if category == .nonspacingMark { return .nonspacingMark }
    switch scalar.value {
    case 0x30...0x39, 0x6F0...0x6F9: return .europeanNumber
    case 0x660...0x669, 0x10D30...0x10D39: return .arabicNumber
    case 0x590...0x8FF, 0xFB1D...0xFDFF, 0xFE70...0xFEFF, 0x10800...0x10FFF, 0x1E800...0x1EFFF: return .rightToLeft
    case 0x200C, 0x200D, 0x30FB, 0xB7, 0x375: return .neutral
    default: return scalar.isASCII && category != .lowercaseLetter ? .neutral : .leftToRight
    }
  }
}
