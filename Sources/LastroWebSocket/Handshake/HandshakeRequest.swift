// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes
package import Lastro
package import LastroWire

#if canImport(FoundationEssentials)
  package import FoundationEssentials
#else
  package import Foundation
#endif

/// The request of a handshake as bytes.
package enum HandshakeRequest {
  /// What `RequestCheck` let pass cannot break a line.
  ///
  /// - Throws: code `invalid_header` for a field that is the handshake's own.
  package static func bytes(of head: HTTPRequest, _ handshake: WebSocketHandshake) throws(TransportError) -> Data {
    var bytes = Data("GET \(head.path ?? "/") HTTP/1.1\r\nHost: \(head.authority ?? "")\r\n".utf8)
    for (name, value) in handshake.fields { bytes.append(contentsOf: "\(name): \(value)\r\n".utf8) }
    for field in head.headerFields.withOneCookieField {
      let name = field.name.canonicalName
      guard !name.hasPrefix("sec-websocket-") else {
        throw .refused(
          .invalidHeader, "the header field \(field.name.rawName) is part of the handshake",
          hint: "subprotocols and compression are set in the configuration")
      }
      if name == "host" || name == "connection" || name == "content-length" { continue }
      bytes.append(contentsOf: "\(field.name.rawName): ".utf8)
      field.withUnsafeBytesOfValue { bytes.append(contentsOf: $0) }
      bytes.append(contentsOf: "\r\n".utf8)
    }
    bytes.append(contentsOf: "\r\n".utf8)
    return bytes
  }
}
