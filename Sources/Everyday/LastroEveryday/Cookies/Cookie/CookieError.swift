// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// The error for a cookie that a jar refuses, or for a file that cannot be read or written.
public struct CookieError: Error, Sendable, Hashable, CustomStringConvertible {
  /// A description of the error, without the cookie's value.
  public let message: String
  /// A suggestion for fixing it.
  public let hint: String
  /// The reason for which the cookie was refused; `nil` for a failure of a file.
  package let refusal: CookieRefusal?

  /// Creates an error, for implementations of stores.
  package init(_ message: String, hint: String, refusal: CookieRefusal? = nil) {
    self.message = message
    self.hint = hint
    self.refusal = refusal
  }

  init(_ refusal: CookieRefusal, of cookie: Cookie) {
    let name = cookie.name.isEmpty ? "the cookie" : "the cookie \(String(cookie.name.prefix(100)).escapedForDisplay)"
    self.init("\(name) \(refusal.reason)", hint: refusal.hint, refusal: refusal)
  }

  /// The message and the hint on one line.
  public var description: String { "\(message) (\(hint))" }
}
