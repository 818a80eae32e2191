// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
package import Lastro
package import LastroWire

/// The framing and the expectations of a request over HTTP/1.1, once its head is written.
package struct HTTP1Request {
  package let framing: RequestFraming
  /// Whether `Expect: 100-continue` is sent, by our own choice or because the caller set it.
  package let expectsContinue: Bool
  /// Whether `Expect` is sent by our own choice.
  let addsExpect: Bool
  package let asksToClose: Bool

  /// Writes the head.
  ///
  /// - Parameters:
  ///   - common: the fields that all requests to the host have in common.
  ///   - target: the target of the request line. Default: the path.
  ///   - proxyAuthorization: the value of `Proxy-Authorization` for a request that has none of its own. Default none.
  ///   - mayExpect: whether `Expect: 100-continue` may be sent before a large body.
  ///   - writer: receives the head.
  /// - Throws: stage `request`, if the request cannot be sent.
  package init(
    _ request: TransferRequest, _ common: inout CommonFields, target: String? = nil,
    proxyAuthorization: String? = nil, mayExpect: Bool, with writer: inout RequestWriter
  ) throws(TransportError) {
    let head = request.head
    let given = GivenFields(head.headerFields)
    framing = request.framing
    addsExpect = mayExpect && framing.deservesExpect && !given.contains(.expect)
    expectsContinue = addsExpect || given.contains(.expect)
    asksToClose = given.contains(.close)
    do throws(RequestViolation) {
      try writer.writeRequestLine(method: head.method.rawValue, target: target ?? head.path ?? "/")
      try common.write(head, given, to: &writer)
      if let proxyAuthorization, !given.contains(.proxyAuthorization) {
        try writer.add("Proxy-Authorization", proxyAuthorization)
      }
      // HTTP/1.1 allows one Cookie field, but swift-http-types keeps a field for each cookie.
      let fields = given.contains(.cookie) ? head.headerFields.withOneCookieField : head.headerFields
      for field in fields where field.name.canonicalName != "host" {
        try field.withUnsafeBytesOfValue { value throws(RequestViolation) in try writer.add(field.name.rawName, value) }
      }
      if given.isDisjoint(with: .framing), let field = framing.field { try writer.add(field.name, field.value) }
      if addsExpect { try writer.add("Expect", "100-continue") }
      try writer.writeEmptyLine()
    } catch {
      throw error.transportError
    }
  }
}

extension TransferRequest {
  /// The framing of the body. HTTP/2 uses only its length.
  var framing: RequestFraming {
    guard hasBody else { return .known(0, method: head.method.rawValue) }
    return body.length.map(RequestFraming.length) ?? .chunked
  }
}
