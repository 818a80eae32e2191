// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
package import Lastro
package import LastroWire

/// The head of a request in HTTP/2 form, and whether a body follows.
package struct HTTP2Request {
  package let fields: HTTP2Fields
  package let body: HTTP2RequestBody

  /// Converts a request into the fields and the body of an HTTP/2 stream.
  ///
  /// - Throws: stage `request`, if the request cannot be sent.
  package init(_ request: TransferRequest, _ settings: MessageSettings) throws(TransportError) {
    do throws(RequestViolation) {
      fields = try Self.fields(request, settings)
    } catch {
      throw error.transportError
    }
    if fields.isTooLarge { throw .fieldsTooLarge("head") }
    body = request.hasBody ? .stream(length: request.body.length) : .none
  }

  private static func fields(
    _ request: TransferRequest, _ settings: MessageSettings
  ) throws(RequestViolation) -> HTTP2Fields {
    let head = request.head
    let given = GivenFields(head.headerFields)
    var fields = try HTTP2Fields(
      method: head.method.rawValue, scheme: head.scheme ?? "https", authority: head.host(given), path: head.path ?? "/")
    if let agent = settings.userAgent, !given.contains(.userAgent) { try fields.add("user-agent", agent) }
    if settings.sendsAccept, !given.contains(.accept) { try fields.add("accept", "*/*") }
    if settings.decompresses, !given.contains(.coding) { try fields.add("accept-encoding", ContentCoding.offer) }
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
    if !given.contains(.length), let length = announcedLength(request) {
      try fields.add("content-length", String(length))
    }
    return fields
  }

  /// Returns the length to announce; `nil` for none. A length of 0 is announced only if the method gives content a
  /// meaning (RFC 9110 §8.6).
  private static func announcedLength(_ request: TransferRequest) -> Int64? {
    guard !request.hasBody else { return request.body.length }
    guard case .length(let length) = RequestFraming.known(0, method: request.head.method.rawValue) else { return nil }
    return length
  }

  /// Returns whether a field is specific to an HTTP/1.1 connection (RFC 9113 §8.2.2), or is `host`, which HTTP/2 sends
  /// as `:authority`.
  private static func isOfConnection(_ name: String) -> Bool {
    switch name {
    case "connection", "keep-alive", "proxy-connection", "upgrade", "transfer-encoding", "host": true
    default: false
    }
  }
}

extension HTTP2Fields {
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
