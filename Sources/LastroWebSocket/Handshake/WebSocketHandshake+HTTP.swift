// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes
package import Lastro
internal import LastroExchange
package import LastroWire

#if canImport(FoundationEssentials)
  package import FoundationEssentials
#else
  package import Foundation
#endif

extension WebSocketHandshake {
  /// The request as it goes out: the handshake's fields, then the caller's own.
  ///
  /// - Throws: code `invalid_header` for a field that is the handshake's own.
  package func request(_ head: HTTPRequest) throws(TransportError) -> Data {
    if let field = head.headerFields.first(where: { $0.name.canonicalName.hasPrefix("sec-websocket-") }) {
      throw .refused(
        .invalidHeader, "the header field \(field.name.rawName) is part of the handshake",
        hint: "subprotocols and compression are set in the configuration")
    }
    var writer = try RequestWriter(head)
    try writer.add(own: fields)
    try writer.add(head.headerFields) { $0 == "connection" || $0 == "content-length" }
    return Data(try writer.head())
  }
}

extension HTTPResponse {
  /// With a `Location` whose scheme is WebSocket's own read as that of HTTP, for the pipeline to follow.
  var withLocationForHTTP: HTTPResponse {
    guard let location = headerFields[.location] else { return self }
    var response = self
    response.headerFields[.location] = WebSocketURL.asHTTP(location)
    return response
  }
}
