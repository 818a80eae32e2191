// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes

extension HTTPFields {
  /// The same fields, with all cookies in one `Cookie` field, where the first of them stood.
  ///
  /// swift-http-types keeps one field for each cookie, which is HTTP/2's way of compressing them; a request of HTTP/1.1
  /// may have no more than one (RFC 6265 §5.4, RFC 9113 §8.2.3), and in HTTP/2 one is right as well.
  package var withOneCookieField: HTTPFields {
    guard contains(.cookie) else { return self }
    let cookies = self[fields: .cookie]
    guard cookies.count > 1, let first = cookies.first else { return self }
    var joined: [UInt8] = []
    for cookie in cookies {
      if !joined.isEmpty { joined += "; ".utf8 }
      cookie.withUnsafeBytesOfValue { joined += $0 }
    }
    var field = HTTPField(name: first.name, lenientValue: joined)
    field.indexingStrategy = first.indexingStrategy
    var result = self
    result[fields: .cookie] = [field]
    return result
  }
}
