// SPDX-License-Identifier: Apache-2.0

import HTTPTypes

extension ResourceRequest {
  /// The absolute URL, as far as the head has it.
  var url: String { "\(head.scheme ?? "")://\(head.authority ?? "")\(head.path ?? "/")" }

  /// Method and URL without the values of the query: what may stand in errors.
  var summary: String {
    let url = url
    guard let mark = url.firstIndex(of: "?") else { return "\(head.method.rawValue) \(url)" }
    let names = url[url.index(after: mark)...].split(separator: "&").map { item in
      item.prefix { $0 != "=" } + (item.contains("=") ? "=***" : "")
    }
    return "\(head.method.rawValue) \(url[..<mark])?\(names.joined(separator: "&"))"
  }
}
