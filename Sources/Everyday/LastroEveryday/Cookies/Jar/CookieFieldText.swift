// SPDX-License-Identifier: Apache-2.0

import Lastro

/// The `Cookie` field of one request, and the cookies that fit in it.
struct CookieFieldText {
  private(set) var cookies: [Cookie] = []
  /// The value of the `Cookie` field.
  private(set) var field = ""
  /// The number of cookies that do not fit in the field.
  private(set) var leftOut = 0

  /// Adds cookies in order until one does not fit.
  init(of candidates: [Cookie], maximumBytes: Int) {
    for cookie in candidates {
      // A cookie without a name is sent as its value alone.
      let pair = (cookie.name.isEmpty ? "" : cookie.name + "=") + cookie.value.reveal()
      let longer = field.isEmpty ? pair : "\(field); \(pair)"
      guard longer.utf8.count <= maximumBytes else { break }
      field = longer
      cookies.append(cookie)
    }
    leftOut = candidates.count - cookies.count
  }
}
