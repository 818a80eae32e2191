// SPDX-License-Identifier: Apache-2.0

/// A line of a text in Netscape's format that sets no cookie.
public struct CookieImportProblem: Sendable, Hashable, CustomStringConvertible {
  /// Its number, from 1.
  public let line: Int
  /// Why the cookie was refused; `nil` where the line is not of the format.
  public let refusal: CookieRefusal?
  /// What is wrong, to be read behind the number of the line; without the cookie's value.
  public let reason: String

  init(line: Int, refusal: CookieRefusal) {
    self.init(line: line, refusal: refusal, reason: "sets a cookie that \(refusal.reason)")
  }

  init(line: Int, refusal: CookieRefusal? = nil, reason: String) {
    self.line = line
    self.refusal = refusal
    self.reason = reason
  }

  /// Such as `line 3 has 4 fields, and not 7`.
  public var description: String { "line \(line) \(reason)" }
}
