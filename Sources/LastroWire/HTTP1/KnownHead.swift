// SPDX-License-Identifier: Apache-2.0

/// A head that was accepted, with its bytes: of a line that comes again in the same place, the verdict and the text
/// are known. A server's answers are much alike.
///
/// What a line means follows from its bytes and from whether it is the first, except for a folded one, which changes
/// the line before it. So a head with folds is not kept, and no line of a kept head is one. What follows from the
/// lines together, ``ResponseFraming`` and persistence, is taken over only when all lines that have a say in it are
/// the same.
///
/// At most 32 lines and 4 KiB: an unusual head is not worth its memory. None that sets cookies: they are secrets, and
/// not the same next time.
package final class KnownHead: Sendable {
  package let head: ResponseHead
  let framing: ResponseFraming
  /// ``ResponseHead/isPersistent``.
  let isPersistent: Bool
  /// With an empty line behind them.
  let lines: KnownLines

  /// `nil` for a head that is too large, or whose lines are not its fields one to one.
  init?(_ head: ResponseHead, framing: ResponseFraming, lines: KnownLines) {
    guard lines.count == head.fields.count + 1, !head.fields.contains(where: Self.setsCookie) else { return nil }
    self.head = head
    self.framing = framing
    self.lines = lines.ended()
    isPersistent = head.isPersistent
  }

  /// - Parameter lines: with an empty line behind them.
  init(_ head: ResponseHead, framing: ResponseFraming, isPersistent: Bool, lines: KnownLines) {
    self.head = head
    self.framing = framing
    self.isPersistent = isPersistent
    self.lines = lines
  }

  private static func setsCookie(_ field: ResponseHead.Field) -> Bool { field.name.isASCII("set-cookie") }

  /// What a field has a say in, besides itself.
  struct Meaning: OptionSet {
    let rawValue: UInt8

    static let framing = Meaning(rawValue: 1)
    static let persistence = Meaning(rawValue: 2)
    /// It is not to be kept.
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

  /// The head as it was after the first `count` lines, and those lines.
  func beginning(_ count: Int) -> (ResponseHead, KnownLines) {
    var head = head
    head.fields.removeLast(head.fields.count - max(0, count - 1))
    return (head, lines.prefix(count))
  }
}
