// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroSupport

extension ConfigurationError {
  /// Creates the error for a cookie that a jar refuses. It contains the cookie's name, and not its value.
  init(_ refusal: CookieRefusal, of cookie: Cookie) {
    let name = cookie.name.isEmpty ? "the cookie" : "the cookie \(String(cookie.name.prefix(100)).escapedForDisplay)"
    self.init("\(name) \(refusal.reason)", hint: refusal.hint)
  }

  /// Creates the error for a file of cookies that cannot be read or written.
  init(_ failure: PrivateFile.Failure, _ path: String) {
    switch failure {
    case .system(let words, let reason, let hint): self.init("\(words) \(path): \(reason)", hint: hint)
    case .unfit, .notText:
      self.init("\(path) is not a file of cookies", hint: "name a regular file of UTF-8, of at most 16 MiB")
    case .tooLarge(let count):
      self.init(
        "the cookies for \(path) have \(count) bytes, above the maximum of 16 MiB", hint: "remove cookies")
    }
  }
}
