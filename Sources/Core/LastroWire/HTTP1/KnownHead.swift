// SPDX-License-Identifier: Apache-2.0

/// A previously accepted head with its bytes. When a line recurs at the same position, its text and its validity are
/// already known. A server's responses are often alike.
///
/// The meaning of a line follows from its bytes and from whether it is the first. Folded lines are an exception,
/// because they change the previous line. Therefore a head with folds is not kept, and no line of a kept head is
/// folded. Results that depend on several lines, ``ResponseFraming`` and persistence, are reused only if all relevant
/// lines are the same.
///
/// A kept head has at most 32 lines and 4 KiB: an unusual head is not worth its memory. Heads that set cookies are not
/// kept, because cookies are secrets and change between responses.
package final class KnownHead: Sendable {
  package let head: ResponseHead
  let framing: ResponseFraming
  /// The value of ``ResponseHead/isPersistent``.
  let isPersistent: Bool
  /// The lines of the head, followed by an empty line.
  let lines: KnownLines

  /// Creates a known head. `nil` if it sets cookies, or if its lines do not match its fields one to one.
  init?(_ head: ResponseHead, framing: ResponseFraming, lines: KnownLines) {
    guard lines.count == head.fields.count + 1, !head.fields.contains(where: Self.setsCookie) else { return nil }
    self.head = head
    self.framing = framing
    self.lines = lines.ended()
    isPersistent = head.isPersistent
  }

  /// Creates a known head.
  ///
  /// - Parameter lines: the lines, followed by an empty line.
  init(_ head: ResponseHead, framing: ResponseFraming, isPersistent: Bool, lines: KnownLines) {
    self.head = head
    self.framing = framing
    self.isPersistent = isPersistent
    self.lines = lines
  }

  private static func setsCookie(_ field: ResponseHead.Field) -> Bool { field.name.isASCII("set-cookie") }

  /// The properties of a head that a field can affect.
  struct Meaning: OptionSet {
    let rawValue: UInt8

    static let framing = Meaning(rawValue: 1)
    static let persistence = Meaning(rawValue: 2)
    /// The field is secret, so the head is not kept.
    static let secret = Meaning(rawValue: 4)
  }

  static func meaning(of name: String) -> Meaning {
    switch name.utf8.count {
    case 10: name.isASCII("connection") ? .persistence : name.isASCII("set-cookie") ? .secret : []
    case 14: name.isASCII("content-length") ? .framing : []
    case 16: name.isASCII("content-encoding") ? .framing : []
    case 17: name.isASCII("transfer-encoding") ? .framing : []
    default: []
    }
  }

  var lineCount: Int { lines.count }

  /// Returns the head as of its first `count` lines, and those lines.
  func beginning(_ count: Int) -> (ResponseHead, KnownLines) {
    var head = head
    head.fields.removeLast(head.fields.count - max(0, count - 1))
    return (head, lines.prefix(count))
  }
}
