// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro

/// Where cookies come from or go to: host, path, and whether no network can read them.
struct CookieSource {
  let host: HostName
  /// Without the query.
  let path: String
  let isSecure: Bool

  /// `nil` for a request that has no `http` or `https` URL.
  init?(_ head: HTTPRequest, _ rules: CookieRules) {
    guard let origin = Origin(head), let host = try? HostName(origin.host) else { return nil }
    self.host = host
    path = String((head.path ?? "/").prefix { $0 != "?" })
    isSecure = origin.scheme == "https" || rules.treatsLoopbackAsSecure && origin.isLoopback
  }

  init(url: String, _ rules: CookieRules) throws(TransportError) {
    let target = try RequestTarget(url)
    let head = HTTPRequest(
      method: .get, scheme: target.scheme, authority: target.authority, path: target.pathAndQuery)
    guard let source = CookieSource(head, rules) else {
      throw .invalidURL("the URL has a host that cookies cannot be for", hint: "write https://HOST/PATH")
    }
    self = source
  }
}
