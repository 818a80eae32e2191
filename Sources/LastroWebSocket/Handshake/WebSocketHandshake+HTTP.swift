// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes
package import Lastro
internal import LastroHTTP
package import LastroWire

#if canImport(FoundationEssentials)
  package import FoundationEssentials
#else
  package import Foundation
#endif

extension WebSocketHandshake {
  /// The request as it goes out.
  ///
  /// - Throws: code `invalid_header` for a field that is the handshake's own.
  package func request(_ head: HTTPRequest) throws(TransportError) -> Data {
    var none = CommonFields(userAgent: nil, sendsAccept: false, decompresses: false)
    var writer = RequestWriter()
    _ = try HTTP1Request(TransferRequest(head: asked(head)), &none, mayExpect: false, with: &writer)
    return writer.withBytes { Data($0) }
  }

  /// The request: the handshake's fields, then the caller's own.
  ///
  /// - Throws: code `invalid_header` for a field that is the handshake's own.
  package func asked(_ head: HTTPRequest) throws(TransportError) -> HTTPRequest {
    if let field = head.headerFields.first(where: { $0.name.canonicalName.hasPrefix("sec-websocket-") }) {
      throw .refused(
        .invalidHeader, "the header field \(field.name.rawName) is part of the handshake",
        hint: "set subprotocols and compression in the configuration")
    }
    var fields: [HTTPField] = []
    for (name, value) in self.fields { fields.append(try HTTPField(ResponseHead.Field(name: name, value: value))) }
    for field in head.headerFields
    where field.name.canonicalName != "connection" && field.name.canonicalName != "content-length" {
      fields.append(field)
    }
    var head = head
    head.headerFields = HTTPFields(fields)
    return head
  }
}

extension ResponseHead {
  /// A head in the shared vocabulary as the machines have it.
  init(_ response: HTTPResponse) {
    self.init(
      version: (1, 1), status: response.status.code, reason: response.status.reasonPhrase,
      fields: response.headerFields.map { Field(name: $0.name.rawName, value: $0.value) })
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
