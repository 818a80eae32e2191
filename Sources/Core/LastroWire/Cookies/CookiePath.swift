// SPDX-License-Identifier: Apache-2.0

/// The rules for paths of cookies (RFC 6265 §5.1.4). Paths are compared byte for byte, without percent-decoding.
package enum CookiePath {
  /// Returns the default path of a cookie: the request's path up to its last slash.
  package static func ofRequest(_ path: String) -> String {
    guard path.utf8.first == UInt8(ascii: "/"), let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")),
      slash > path.startIndex
    else { return "/" }
    return String(path[..<slash])
  }

  /// Returns whether a request to `path` gets the cookies of `cookiePath`: the paths are equal, or `path` is below
  /// `cookiePath`.
  package static func covers(_ cookiePath: String, _ path: String) -> Bool {
    guard path.utf8.starts(with: cookiePath.utf8) else { return false }
    guard cookiePath.utf8.last != UInt8(ascii: "/") else { return true }
    let next = path.utf8.dropFirst(cookiePath.utf8.count).first
    return next == nil || next == UInt8(ascii: "/")
  }
}
