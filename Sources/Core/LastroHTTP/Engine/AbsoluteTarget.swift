// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes

extension HTTPRequest {
  /// The request's target in absolute form. For `OPTIONS *` it has no path (RFC 9112 §3.2.4).
  var absoluteTarget: String {
    let path = path ?? "/"
    return "http://\(authority ?? "")\(path == "*" ? "" : path)"
  }
}
