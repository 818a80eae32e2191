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
    return "\(method.rawValue) \(scheme ?? "")://\(place)\(Self.maskingQueryValues(ofURL: path ?? "/"))"
  }

  /// The URL, or the end of one, with the values of its query masked.
  static func maskingQueryValues(ofURL url: String) -> String {
    guard let mark = url.utf8.firstIndex(where: { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }) else {
      return url
    }
    let query = url.utf8.index(after: mark)
    let items = url.utf8[query...].split(separator: UInt8(ascii: "&"))
    let names = items.map { item in
      item.firstIndex(of: UInt8(ascii: "=")).map { "\(Substring(item[..<$0]))=" } ?? ""
    }
    return url[..<query] + names.map { $0 + Redaction.mask }.joined(separator: "&")
  }
}
