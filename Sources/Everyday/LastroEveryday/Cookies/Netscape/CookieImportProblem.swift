// SPDX-License-Identifier: Apache-2.0

/// A line of a text in Netscape's format that sets no cookie.
struct CookieImportProblem: Error, CustomStringConvertible {
  /// The number of the line, starting at 1.
  let line: Int
  /// A phrase for the problem, to be read after the number of the line; without the cookie's value.
  let reason: String

  /// A description, such as `line 3 has 4 fields, and not 7`.
  var description: String { "line \(line) \(reason)" }
}
