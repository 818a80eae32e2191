// SPDX-License-Identifier: Apache-2.0

/// Paths of cookies (RFC 6265 §5.1.4), byte for byte: nothing is percent-decoded.
package enum CookiePath {
  /// The path of a cookie that names none: that of the request up to its last slash.
  package static func ofRequest(_ path: String) -> String {
    guard path.utf8.first == UInt8(ascii: "/"), let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")),
      slash > path.startIndex
    else { return "/" }
    return String(path[..<slash])
  }

  /// Whether a request to `path` gets the cookies of `cookiePath`: it is that path, or lies below it.
  package static func covers(_ cookiePath: String, _ path: String) -> Bool {
    guard path.utf8.starts(with: cookiePath.utf8) else { return false }
    guard cookiePath.utf8.last != UInt8(ascii: "/") else { return true }
    let next = path.utf8.dropFirst(cookiePath.utf8.count).first
    return next == nil || next == UInt8(ascii: "/")
  }
}
