// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials
package import HTTPTypes
package import Lastro
internal import LastroHTTP
package import LastroWire

extension WebSocketHandshake {
  /// Returns the bytes of the request.
  ///
  /// - Throws: code `invalid_header` for a field that the handshake itself sets.
  package func request(_ head: HTTPRequest) throws(TransportError) -> Data {
    var none = CommonFields(.none)
    var writer = RequestWriter()
    _ = try HTTP1Request(TransferRequest(head: asked(head)), &none, mayExpect: false, with: &writer)
    return writer.withBytes { Data($0) }
  }

  /// Returns the request with the handshake's fields, followed by the caller's.
  ///
  /// - Parameter isTunnel: whether the request becomes an extended CONNECT (RFC 8441 §5). Default false.
  /// - Throws: code `invalid_header` for a field that the handshake itself sets.
  package func asked(_ head: HTTPRequest, isTunnel: Bool = false) throws(TransportError) -> HTTPRequest {
    if let field = head.headerFields.first(where: { $0.name.canonicalName.hasPrefix("sec-websocket-") }) {
      throw .refused(
        .invalidHeader, "the header field \(field.name.rawName) is part of the handshake",
        hint: "set subprotocols and compression in the configuration")
    }
    var fields: [HTTPField] = []
    for (name, value) in isTunnel ? tunnelFields : self.fields {
      fields.append(try HTTPField(ResponseHead.Field(name: name, value: value)))
    }
    for field in head.headerFields
    where field.name.canonicalName != "connection" && field.name.canonicalName != "content-length" {
      fields.append(field)
    }
    var head = head
    if isTunnel {
      head.method = .connect
      head.extendedConnectProtocol = "websocket"
    }
    head.headerFields = HTTPFields(fields)
    return head
  }
}

extension ResponseHead {
  /// Creates the head that the state machines use from an `HTTPResponse`.
  init(_ response: HTTPResponse) {
    self.init(
      version: (1, 1), status: response.status.code, reason: response.status.reasonPhrase,
      fields: response.headerFields.map { Field(name: $0.name.rawName, value: $0.value) })
  }
}

extension HTTPResponse {
  /// The response with the WebSocket scheme of its `Location` replaced by that of HTTP, so that the pipeline can follow
  /// it.
  var withLocationForHTTP: HTTPResponse {
    guard let location = headerFields[.location] else { return self }
    var response = self
    response.headerFields[.location] = WebSocketURL.asHTTP(location)
    return response
  }
}
