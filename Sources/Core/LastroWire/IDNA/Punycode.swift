// SPDX-License-Identifier: Apache-2.0

/// Punycode (RFC 3492), which encodes a label in ASCII. It handles neither `xn--` nor the rules for characters in
/// names.
package enum Punycode {
  private static let base: UInt32 = 36
  private static let tMin: UInt32 = 1
  private static let tMax: UInt32 = 26
  private static let initialBias: UInt32 = 72
  private static let initialScalar: UInt32 = 0x80
  private static let hyphen = UInt8(ascii: "-")

  /// Encodes a label in ASCII. Encoded digits use lower case; ASCII characters are unchanged.
  ///
  /// - Returns: `nil` if a number overflows 32 bits (RFC 3492 §6.4), which happens only for labels that do not fit in
  ///   DNS.
  package static func encode(_ label: [Unicode.Scalar]) -> [UInt8]? {
    var output = label.filter(\.isASCII).map { UInt8(truncatingIfNeeded: $0.value) }
    let basicCount = UInt32(truncatingIfNeeded: output.count)
    var handled = basicCount
    if handled > 0 { output.append(hyphen) }
    var scalar = initialScalar
    var delta: UInt32 = 0
    var bias = initialBias
    while handled < label.count {
      guard let next = label.lazy.map(\.value).filter({ $0 >= scalar }).min(),
        let rise = product(next - scalar, handled + 1), let risen = sum(delta, rise)
      else { return nil }
      delta = risen
      scalar = next
      for each in label {
        if each.value < scalar {
          guard delta < .max else { return nil }
          delta += 1
        } else if each.value == scalar {
          appendInteger(delta, bias: bias, to: &output)
          bias = adapt(delta, count: handled + 1, isFirst: handled == basicCount)
          delta = 0
          handled += 1
        }
      }
      guard delta < .max else { return nil }
      delta += 1
      scalar += 1
    }
    return output
  }

  /// Decodes a label.
  ///
  /// Digits are read in either case. The result need not encode to `text` again; use ``encode(_:)`` to check that.
  ///
  /// - Returns: `nil` if the text is not Punycode, or if it encodes an invalid Unicode scalar.
  package static func decode(_ text: [UInt8]) -> [Unicode.Scalar]? {
    guard text.allSatisfy({ $0 < 0x80 }) else { return nil }
    // A hyphen at the start is not a delimiter. It is left among the digits, where it is invalid.
    let delimiter = text.lastIndex(of: hyphen) ?? 0
    var output = text[..<delimiter].map { Unicode.Scalar($0) }
    var digits = text[(delimiter > 0 ? delimiter + 1 : 0)...]
    var scalar = initialScalar
    var index: UInt32 = 0
    var bias = initialBias
    while !digits.isEmpty {
      let before = index
      guard let moved = readInteger(from: &digits, onto: index, bias: bias) else { return nil }
      let count = UInt32(truncatingIfNeeded: output.count) + 1
      bias = adapt(moved - before, count: count, isFirst: before == 0)
      guard let next = sum(scalar, moved / count), let decoded = Unicode.Scalar(next) else { return nil }
      scalar = next
      index = moved % count
      output.insert(decoded, at: Int(index))
      index += 1
    }
    return output
  }

  /// Appends a variable-length integer (RFC 3492 §3.3).
  private static func appendInteger(_ value: UInt32, bias: UInt32, to output: inout [UInt8]) {
    var rest = value
    var k = base
    while true {
      let limit = threshold(k, bias: bias)
      guard rest >= limit else { break }
      output.append(digit(limit + (rest - limit) % (base - limit)))
      rest = (rest - limit) / (base - limit)
      k += base
    }
    output.append(digit(rest))
  }

  /// Removes the integer at the front of `digits`. Returns its sum with `start`.
  private static func readInteger(from digits: inout ArraySlice<UInt8>, onto start: UInt32, bias: UInt32) -> UInt32? {
    var result = start
    var weight: UInt32 = 1
    var k = base
    while let byte = digits.popFirst() {
      guard let digit = value(ofDigit: byte), let step = product(digit, weight), let next = sum(result, step) else {
        return nil
      }
      result = next
      let limit = threshold(k, bias: bias)
      if digit < limit { return result }
      guard let heavier = product(weight, base - limit) else { return nil }
      weight = heavier
      k += base
    }
    return nil
  }

  private static func threshold(_ k: UInt32, bias: UInt32) -> UInt32 {
    k <= bias + tMin ? tMin : k >= bias + tMax ? tMax : k - bias
  }

  /// Returns the adapted bias (RFC 3492 §6.1).
  private static func adapt(_ delta: UInt32, count: UInt32, isFirst: Bool) -> UInt32 {
    var delta = isFirst ? delta / 700 : delta / 2
    // This cannot overflow: it is at most 1.5 times a number that was halved.
    delta += delta / count
    var k: UInt32 = 0
    while delta > (base - tMin) * tMax / 2 {
      delta /= base - tMin
      k += base
    }
    return k + (base - tMin + 1) * delta / (delta + 38)
  }

  private static func digit(_ value: UInt32) -> UInt8 {
    UInt8(truncatingIfNeeded: value < 26 ? value + 97 : value + 22)
  }

  private static func value(ofDigit byte: UInt8) -> UInt32? {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(byte) - 97
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(byte) - 65
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(byte) - 22
    default: nil
    }
  }

  private static func product(_ a: UInt32, _ b: UInt32) -> UInt32? {
    let (result, isOver) = a.multipliedReportingOverflow(by: b)
    return isOver ? nil : result
  }

  private static func sum(_ a: UInt32, _ b: UInt32) -> UInt32? {
    let (result, isOver) = a.addingReportingOverflow(b)
    return isOver ? nil : result
  }
}
