// SPDX-License-Identifier: Apache-2.0

import HTTPTypes

extension ResourceRequest {
  /// The absolute URL, as far as the head has it.
  var url: String { "\(head.scheme ?? "")://\(head.authority ?? "")\(head.path ?? "/")" }

  /// Method and URL without user information and the values of the query: what may stand in errors.
  var summary: String { head.summary }
}

extension HTTPRequest {
  /// Method and URL without user information and the values of the query: what may stand in errors. An item that is no
  /// pair is a value.
  var summary: String {
    // A request with user information is refused, but its refusal is described.
    var place = authority ?? ""
    if let at = place.utf8.lastIndex(of: UInt8(ascii: "@")) { place.replaceSubrange(..<at, with: Redaction.mask) }
    let start = "\(method.rawValue) \(scheme ?? "")://\(place)"
    let path = path ?? "/"
    guard let mark = path.utf8.firstIndex(where: { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }) else {
      return start + path
    }
    let query = path.utf8.index(after: mark)
    let items = path.utf8[query...].split(separator: UInt8(ascii: "&"))
    let names = items.map { item in
      item.firstIndex(of: UInt8(ascii: "=")).map { "\(Substring(item[..<$0]))=" } ?? ""
    }
    return start + path[..<query] + names.map { $0 + Redaction.mask }.joined(separator: "&")
  }
}
