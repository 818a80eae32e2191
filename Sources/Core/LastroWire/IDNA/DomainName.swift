// SPDX-License-Identifier: Apache-2.0

/// The conversion of domain names to ASCII: UTS 46 ToASCII, non-transitional, for names that need no mapping except to
/// lower case.
///
/// It contains no tables of Unicode data, only short ranges that Unicode guarantees to be stable. If the standard
/// library cannot tell whether a name is normalized, the name is rejected. It can be written with `xn--` labels
/// instead.
package enum DomainName {
  /// Returns the NFC form of a label; `nil` if it is uncertain.
  package typealias Compose = (_ label: [Unicode.Scalar]) -> [Unicode.Scalar]?

  /// Returns the name in lower case with A-labels (RFC 5890 §2.3.2.1).
  ///
  /// - Parameters:
  ///   - name: the name without a final dot.
  ///   - compose: returns the NFC form of a label.
  package static func ascii(_ name: String, composing compose: Compose) throws(HostProblem) -> String {
    let name = name.lowercased()
    var result = ""
    var unicode: [[Unicode.Scalar]] = []
    var isInternational = false
    for label in name.unicodeScalars.split(separator: ".", omittingEmptySubsequences: false) {
      let label = Array(label)
      guard !label.isEmpty else {
        throw HostProblem("the host has an empty label", hint: "write one dot between two labels, and none in front")
      }
      let (ascii, scalars) = try Self.label(label, compose)
      guard ascii.utf8.count <= 63 else { throw tooLong(label) }
      if !result.isEmpty { result.append(".") }
      result.append(ascii)
      unicode.append(scalars)
      isInternational = isInternational || !scalars.allSatisfy(\.isASCII)
    }
    guard result.utf8.count <= 253 else {
      throw HostProblem(
        "the host has \(result.utf8.count) bytes in ASCII, above the maximum of 253", hint: "shorten it")
    }
    guard !isInternational || BidiRule.isSatisfied(by: unicode) else {
      throw HostProblem(
        "a label of the host mixes right-to-left letters with others, or begins with a digit",
        hint: "RFC 5893 §2 allows neither, because the name would be displayed misleadingly")
    }
    return result
  }

  private static func tooLong(_ label: [Unicode.Scalar]) -> HostProblem {
    HostProblem(
      "the label \(label.shown) of the host is longer than 63 bytes in ASCII", hint: "shorten it; a label ends at a dot"
    )
  }

  /// Returns the label in ASCII and in Unicode.
  private static func label(
    _ label: [Unicode.Scalar], _ compose: Compose
  ) throws(HostProblem) -> (String, [Unicode.Scalar]) {
    let isALabel = label.starts(with: "xn--".unicodeScalars)
    guard label.allSatisfy(\.isASCII) else {
      guard !isALabel else {
        throw HostProblem(
          "a label of the host begins with xn-- and has letters that are not ASCII",
          hint: "write it all in Unicode, or all in its xn-- form")
      }
      let composed = try UnicodeLabel.composed(label, compose)
      guard let punycode = Punycode.encode(composed) else { throw tooLong(label) }
      return ("xn--" + String(decoding: punycode, as: UTF8.self), composed)
    }
    for scalar in label { try UnicodeLabel.checkASCII(scalar) }
    let text = String(String.UnicodeScalarView(label))
    return (text, isALabel ? try decoded(label, compose) : label)
  }

  /// Decodes an A-label and validates it (RFC 5891 §5.4). It must equal the encoding of its U-label, which must be
  /// allowed in names.
  private static func decoded(
    _ label: [Unicode.Scalar], _ compose: Compose
  ) throws(HostProblem) -> [Unicode.Scalar] {
    let punycode = label.dropFirst(4).map { UInt8(truncatingIfNeeded: $0.value) }
    // Limit the cost of decoding.
    guard punycode.count <= 59 else { throw tooLong(label) }
    guard let scalars = Punycode.decode(punycode), scalars.contains(where: { !$0.isASCII }),
      Punycode.encode(scalars) == punycode
    else {
      throw HostProblem(
        "a label of the host begins with xn-- and is not the Punycode of a Unicode label",
        hint: "check that it is complete")
    }
    try UnicodeLabel.check(scalars, compose)
    return scalars
  }
}
