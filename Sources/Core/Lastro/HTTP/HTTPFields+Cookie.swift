// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes

extension HTTPFields {
  /// The fields with all cookies joined into one `Cookie` field, at the position of the first.
  ///
  /// swift-http-types keeps one field for each cookie, as HTTP/2 does for compression. An HTTP/1.1 request may have at
  /// most one (RFC 6265 §5.4, RFC 9113 §8.2.3). One field is valid in HTTP/2 as well.
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
