// SPDX-License-Identifier: Apache-2.0

import Lastro

/// The cookies of one request.
struct CookieSelection {
  private(set) var cookies: [Cookie] = []
  /// What stands in `Cookie`.
  private(set) var field = ""
  /// How many have no room.
  private(set) var leftOut = 0

  /// Takes cookies in their order until one has no room.
  init(of candidates: [Cookie], maximumBytes: Int) {
    for cookie in candidates {
      // One without a name is its value alone.
      let pair = (cookie.name.isEmpty ? "" : cookie.name + "=") + cookie.value.reveal()
      let longer = field.isEmpty ? pair : "\(field); \(pair)"
      guard longer.utf8.count <= maximumBytes else { break }
      field = longer
      cookies.append(cookie)
    }
    leftOut = candidates.count - cookies.count
  }
}
