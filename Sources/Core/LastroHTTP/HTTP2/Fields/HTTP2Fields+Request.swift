// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
package import Lastro
package import LastroWire

extension HTTP2Fields {
  /// Creates the head of a request.
  ///
  /// - Throws: stage `request`, if the request cannot be sent.
  package init(_ request: TransferRequest, _ added: AddedFields) throws(TransportError) {
    do throws(RequestViolation) {
      self = try Self.head(of: request, added)
    } catch {
      throw error.transportError
    }
    if isTooLarge { throw .fieldsTooLarge("head") }
  }

  private static func head(
    of request: TransferRequest, _ added: AddedFields
  ) throws(RequestViolation) -> HTTP2Fields {
    let head = request.head
    let given = GivenFields(head.headerFields)
    var fields = try HTTP2Fields(
      method: head.method.rawValue, scheme: head.scheme ?? "https", authority: head.host(given), path: head.path ?? "/")
    if request.isTunnel { try fields.addProtocol(head.extendedConnectProtocol ?? "") }
    if let agent = added.userAgent, !given.contains(.userAgent) { try fields.add("user-agent", agent) }
    if added.sendsAccept, !given.contains(.accept) { try fields.add("accept", "*/*") }
    if let codings = added.acceptEncoding, !given.contains(.coding) { try fields.add("accept-encoding", codings) }
    for field in head.headerFields {
      let name = field.name.canonicalName
      if Self.isOfConnection(name) { continue }
      let isSensitive =
        field.indexingStrategy == .disallow || name == "authorization" || name == "cookie"
        || name == "proxy-authorization"
      try field.withUnsafeBytesOfValue { value throws(RequestViolation) in
        try fields.add(name, value, isSensitive: isSensitive)
      }
    }
    if !given.contains(.length), case .length(let length) = request.framing {
      try fields.add("content-length", String(length))
    }
    return fields
  }

  /// Returns whether a field is specific to an HTTP/1.1 connection (RFC 9113 §8.2.2), or is `host`, which HTTP/2 sends
  /// as `:authority`.
  private static func isOfConnection(_ name: String) -> Bool {
    switch name {
    case "connection", "keep-alive", "proxy-connection", "upgrade", "transfer-encoding", "host": true
    default: false
    }
  }

  /// Creates the trailers of a request, whose names were checked.
  package init(trailers: [ResponseHead.Field]) throws(TransportError) {
    self.init()
    do throws(RequestViolation) {
      for field in trailers { try add(field.name.lowercased(), field.value) }
    } catch {
      throw error.transportError
    }
    if isTooLarge { throw .fieldsTooLarge("trailers") }
  }
}
