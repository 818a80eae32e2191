// SPDX-License-Identifier: Apache-2.0

/// A line of a text in Netscape's format that sets no cookie.
public struct CookieImportProblem: Sendable, Hashable, CustomStringConvertible {
  /// The number of the line, starting at 1.
  public let line: Int
  /// The reason for which the cookie was refused; `nil` if the line is not in the format.
  package let refusal: CookieRefusal?
  /// A phrase for the problem, to be read after the number of the line; without the cookie's value.
  public let reason: String

  init(line: Int, refusal: CookieRefusal) {
    self.init(line: line, refusal: refusal, reason: "sets a cookie that \(refusal.reason)")
  }

  init(line: Int, refusal: CookieRefusal? = nil, reason: String) {
    self.line = line
    self.refusal = refusal
    self.reason = reason
  }

  /// A description, such as `line 3 has 4 fields, and not 7`.
  public var description: String { "line \(line) \(reason)" }
}
