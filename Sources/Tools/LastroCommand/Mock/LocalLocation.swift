// SPDX-License-Identifier: Apache-2.0

import Lastro

/// Keeps clients of `mock` and `proxy` from following a redirect to the server that these stand for.
enum LocalLocation {
  /// Returns a `Location` for a client of this machine: a path, if it leads to a place that is served here; else the
  /// absolute URL, or the text itself if it has none.
  ///
  /// - Parameters:
  ///   - location: the value from the real server.
  ///   - url: the URL of the request there.
  ///   - origins: the origins that are served here.
  ///   - base: the path of the real server that is the root here, without a slash at its end.
  static func text(_ location: String, from url: String, origins: Set<Origin>, base: String = "") -> String {
    guard let target = try? RequestTarget(url),
      let found = try? RedirectTarget(location, base: target, fragment: nil)
    else { return location }
    let fragment = location.utf8.firstIndex(of: UInt8(ascii: "#")).map { location[$0...] } ?? ""
    let path = found.target.path
    guard let origin = try? Origin(found.urlWithoutFragment), origins.contains(origin),
      path == base || path.hasPrefix(base + "/")
    else { return found.urlWithoutFragment + fragment }
    var local = found.target
    local.path = "/" + path.dropFirst(base.count + 1)
    // Two slashes at the beginning would be a host (RFC 3986 §4.2).
    return (local.path.hasPrefix("//") ? "/." : "") + local.pathAndQuery + fragment
  }
}
