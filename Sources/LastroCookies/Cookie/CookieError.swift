// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// A cookie that a jar cannot take, or a store that cannot be read or written.
public struct CookieError: Error, Sendable, Hashable, CustomStringConvertible {
  /// What is wrong, without the cookie's value.
  public let message: String
  /// How to fix it.
  public let hint: String
  /// Why the cookie was refused; `nil` where a store failed.
  public let refusal: CookieRefusal?

  /// Makes an error; for stores.
  public init(_ message: String, hint: String, refusal: CookieRefusal? = nil) {
    self.message = message
    self.hint = hint
    self.refusal = refusal
  }

  init(_ refusal: CookieRefusal, of cookie: Cookie) {
    let name = cookie.name.isEmpty ? "the cookie" : "the cookie \(String(cookie.name.prefix(100)).escapedForDisplay)"
    self.init("\(name) \(refusal.reason)", hint: refusal.hint, refusal: refusal)
  }

  /// Message and hint on one line.
  public var description: String { "\(message) (\(hint))" }
}
