// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import Lastro

extension NextPage {
  /// Returns a request with this step applied. A stored URL is checked like one that a server names.
  func applied(to request: ResourceRequest, _ origins: Set<Origin>) throws(TransportError) -> ResourceRequest {
    var request = request
    switch change {
    case .url(let url):
      try PageProgress.check(url, from: Origin(request.head), origins)
      let target = try RequestTarget(url)
      request.head.scheme = target.scheme
      request.head.authority = target.authority
      request.head.path = target.pathAndQuery
    case .query(let items):
      var target = try RequestTarget(request.url)
      target.replace(items)
      request.head.path = target.pathAndQuery
    case .header(let name, let value): try request.setHeader(name, value)
    }
    return request
  }
}

extension RequestTarget {
  /// Replaces query items with the same names; new items follow the others, sorted by name.
  fileprivate mutating func replace(_ items: [String: String]) {
    var parts = (query ?? "").split(separator: "&").map(String.init).filter { part in
      let name = part.prefix { $0 != "=" }
      let plain = Substring(name.replacing("+", with: " ")).percentDecodedBytes ?? Array(name.utf8)
      return items[String(decoding: plain, as: UTF8.self)] == nil
    }
    for (name, value) in items.sorted(by: { $0.key < $1.key }) {
      parts.append("\(name.percentEncoded(keeping: .unreserved))=\(value.percentEncoded(keeping: .unreserved))")
    }
    query = parts.joined(separator: "&")
  }
}
