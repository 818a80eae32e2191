// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro

/// The origin or destination of cookies: the host, the path, and whether the connection is secure.
struct CookieSource {
  let host: HostName
  /// The path without the query.
  let path: String
  let isSecure: Bool

  /// Returns `nil` for a request without an `http` or `https` URL.
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
      throw .invalidURL("the URL has a host that cannot have cookies", hint: "write https://HOST/PATH")
    }
    self = source
  }
}
