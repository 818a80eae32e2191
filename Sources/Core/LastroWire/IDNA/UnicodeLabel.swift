// SPDX-License-Identifier: Apache-2.0

/// The rules for labels before they are encoded (RFC 5891 §5.4, RFC 5892, UTS 46 §4.1).
enum UnicodeLabel {
  /// Returns the normalized (NFC) form of a label that was written in Unicode.
  static func composed(
    _ label: [Unicode.Scalar], _ compose: DomainName.Compose
  ) throws(HostProblem) -> [Unicode.Scalar] {
    try checkScalars(label)
    guard let composed = compose(label) else {
      throw HostProblem(
        "the host has combining marks whose normal form is not certain", hint: "write the label in its xn-- form")
    }
    try checkContext(composed)
    return composed
  }

  /// Validates the decoded label of an A-label, which must already be normalized.
  static func check(_ label: [Unicode.Scalar], _ compose: DomainName.Compose) throws(HostProblem) {
    try checkScalars(label)
    // If the normal form is uncertain, accept the label: its ASCII form is what is compared and sent.
    guard compose(label).map({ $0 == label }) ?? true else {
      throw HostProblem(
        "a label of the host encodes text that is not normalized", hint: "encode its NFC form, as every client does")
    }
    try checkContext(label)
  }

  static func checkASCII(_ scalar: Unicode.Scalar) throws(HostProblem) {
    guard scalar.isASCII, isUnreserved(scalar) else { throw refused(scalar) }
  }

  /// Returns whether a character is `unreserved` (RFC 3986 §2.3).
  private static func isUnreserved(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar {
    case "a"..."z", "A"..."Z", "0"..."9", "-", ".", "_", "~": true
    default: false
    }
  }

  private static func checkScalars(_ label: [Unicode.Scalar]) throws(HostProblem) {
    for scalar in label where !isAllowed(scalar) { throw refused(scalar) }
    // A label must not begin with a combining mark (RFC 5891 §4.2.3.2).
    if let first = label.first, isCombiningMark(first) {
      throw HostProblem("a label of the host begins with a combining mark", hint: "put a letter before it")
    }
  }

  private static func isCombiningMark(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .nonspacingMark, .spacingMark: true
    default: false
    }
  }

  private static func isAllowed(_ scalar: Unicode.Scalar) -> Bool {
    if scalar.isASCII { return isUnreserved(scalar) }
    // IDNA 2008 allows these letters although case folding changes them.
    if scalar == "ß" || scalar == "ς" || LabelContext.isContextual(scalar) { return true }
    guard !scalar.properties.changesWhenNFKCCaseFolded, !isException(scalar.value) else { return false }
    switch scalar.properties.generalCategory {
    case .lowercaseLetter, .otherLetter, .modifierLetter, .nonspacingMark, .spacingMark, .decimalNumber: return true
    default: return false
    }
  }

  /// Returns whether IDNA 2008 forbids a letter (RFC 5892 §2.6, and §2.9: conjoining Hangul).
  private static func isException(_ value: UInt32) -> Bool {
    switch value {
    case 0x640, 0x7FA, 0x302E, 0x302F, 0x3031...0x3035, 0x303B: true
    case 0x1100...0x11FF, 0xA960...0xA97F, 0xD7B0...0xD7FF: true
    default: false
    }
  }

  private static func checkContext(_ label: [Unicode.Scalar]) throws(HostProblem) {
    for index in label.indices where !LabelContext.isSatisfied(at: index, of: label) { throw refused(label[index]) }
  }

  private static func refused(_ scalar: Unicode.Scalar) -> HostProblem {
    let digits = String(scalar.value, radix: 16, uppercase: true)
    let name = "U+" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    return switch scalar {
    case "*": HostProblem("the host has * in it", hint: "write the name without it")
    case "%": HostProblem("the host has % in it", hint: "write the letters themselves, and an address without its zone")
    case "@": HostProblem("the host has user information in it", hint: "write only the part after @")
    case ":", "/": HostProblem("the host has \(scalar) in it", hint: "write the name without scheme, port and path")
    case " ": HostProblem("the host has a space in it", hint: "remove it")
    case _ where LabelContext.isContextual(scalar):
      HostProblem("the host has the character \(name) in a place where it is not allowed", hint: "remove it")
    case _ where !scalar.isASCII && scalar.properties.changesWhenNFKCCaseFolded:
      HostProblem(
        "the host has the character \(name), which IDNA maps to other letters",
        hint: "write the mapped letters, or the host in its xn-- form")
    default:
      HostProblem(
        "the host has the character \(name), which host names cannot have",
        hint: "use letters, marks, digits and hyphens; RFC 5892")
    }
  }
}
