// SPDX-License-Identifier: Apache-2.0

package import Lastro

/// Conversion of `ws` and `wss` URLs (RFC 6455 §3).
package enum WebSocketURL {
  /// Returns the same URL with the scheme that its handshake uses.
  static func asHTTP(_ url: String) -> String {
    for (own, http) in [("wss:", "https:"), ("ws:", "http:")] where url.lowercased().hasPrefix(own) {
      return http + url.dropFirst(own.count)
    }
    return url
  }

  /// - Throws: code `invalid_url` for a fragment, which the URL of a WebSocket may not have.
  package static func request(_ url: String, headers: RawHeaders) throws(TransportError) -> ResourceRequest {
    guard !url.utf8.contains(UInt8(ascii: "#")) else {
      throw .invalidURL("the URL of a WebSocket has a fragment", hint: "write # as %23, or leave it out")
    }
    return try ResourceRequest(url: asHTTP(url), headers: headers)
  }
}
