// SPDX-License-Identifier: Apache-2.0

/// Domain names in ASCII: UTS 46 ToASCII, non-transitional, for what needs no mapping but lower case.
///
/// There are no tables of Unicode data here but short ranges that Unicode promises to keep. Where the standard library
/// cannot tell whether a name is in its one form, the name is refused: it can be written with `xn--` labels.
package enum DomainName {
  /// Makes NFC of a label; `nil` where that is not certain.
  package typealias Compose = (_ label: [Unicode.Scalar]) -> [Unicode.Scalar]?

  /// The name in lower case with A-labels (RFC 5890 §2.3.2.1).
  ///
  /// - Parameters:
  ///   - name: without final dot.
  ///   - compose: makes NFC.
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
        hint: "RFC 5893 §2 allows neither: what is seen would not be what is meant")
    }
    return result
  }

  private static func tooLong(_ label: [Unicode.Scalar]) -> HostProblem {
    HostProblem(
      "the label \(label.shown) of the host is longer than 63 bytes in ASCII", hint: "shorten it: dots end labels")
  }

  /// The label in ASCII and in Unicode.
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

  /// RFC 5891 §5.4: an A-label must be what its U-label is encoded to, and that must be one that a name may have.
  private static func decoded(
    _ label: [Unicode.Scalar], _ compose: Compose
  ) throws(HostProblem) -> [Unicode.Scalar] {
    let punycode = label.dropFirst(4).map { UInt8(truncatingIfNeeded: $0.value) }
    // Bounds what decoding costs.
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
