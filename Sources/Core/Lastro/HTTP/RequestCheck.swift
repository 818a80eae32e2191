// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import LastroSupport
internal import LastroWire

/// Refuses requests that must not be sent. libcurl checks none of these rules.
package enum RequestCheck {
  /// Checks the whole request once. It allocates nothing if the request is valid.
  ///
  /// It refuses, with stage `request`:
  /// - `invalid_method`: CONNECT, which only the engine sends (methods are tokens by their type);
  /// - `unsupported_scheme`, `invalid_url`: schemes other than `http` and `https`, an authority that ``RequestTarget``
  ///   would not produce (upper case and a default port are allowed), a path that it would not produce, `*` as a path;
  /// - `invalid_header`: control characters in a value or in the body's type; a `Host` that differs from the authority
  ///   (to reach a virtual host at another address, use ``ConnectionOptions/resolve(_:port:to:)``: the certificate
  ///   is checked against the URL's host, so the request must be for that host too);
  /// - `conflicting_framing`: `Transfer-Encoding`, a `Content-Length` that differs from the body's, `Connection` other
  ///   than `close` and `keep-alive`, `Upgrade`, `HTTP2-Settings`, `Keep-Alive`, `Proxy-Connection`, `TE` other than
  ///   `trailers`;
  /// - `invalid_body`: a body with HEAD or TRACE, a negative length, trailers with a known length.
  package static func check(_ request: ResourceRequest) throws(TransportError) {
    guard !request.isChecked else { return }
    try checkMethod(request)
    try checkTarget(request.head)
    try checkBody(request.body)
    var hasHost = false
    for field in request.head.headerFields {
      guard field.withUnsafeBytesOfValue({ $0.allSatisfy(isFieldByte) }) else {
        throw controlCharacter(in: field.name.rawName)
      }
      try check(field, request, &hasHost)
    }
    request.markChecked()
  }

  private static func checkMethod(_ request: ResourceRequest) throws(TransportError) {
    switch request.head.method {
    case .connect:
      throw .refused(.invalidMethod, "CONNECT cannot be sent by a fetch", hint: "set proxies in ConnectionOptions")
    case .head, .trace:
      guard request.body.isEmpty else {
        throw .refused(.invalidBody, "a \(request.head.method) request has a body", hint: "leave it out")
      }
    default: break
    }
    guard request.head.extendedConnectProtocol == nil else {
      throw .refused(.invalidMethod, "a fetch cannot send extended CONNECT (RFC 8441)", hint: "use WebSocketClient")
    }
  }

  private static func checkTarget(_ head: HTTPRequest) throws(TransportError) {
    guard let scheme = head.scheme else { throw .invalidURL("the request has no scheme", hint: "set https or http") }
    guard scheme == "https" || scheme == "http" else {
      throw .refused(
        .unsupportedScheme, "the scheme \(scheme.prefix(20).escapedForDisplay) is not supported",
        hint: "use https or http, in lower case")
    }
    guard let authority = head.authority, !authority.isEmpty else {
      throw .invalidURL("the request has no authority", hint: "set HOST or HOST:PORT")
    }
    if PlainAuthority(authority) == nil {
      if let byte = authority.firstByte(where: { $0.isControl || $0 == 0x20 }) {
        throw .invalidURL("the authority has a \(byte == 0x20 ? "space" : "control character")", hint: "remove it")
      }
      let host = try Authority(authority[...]).host
      guard authority.utf8.allSatisfy({ $0 < 0x80 && $0 != UInt8(ascii: "%") }) else {
        throw .invalidURL(
          "the request's authority is not in its ASCII form", hint: "write \(host), or make the request from its URL")
      }
    }
    guard let path = head.path, path.utf8.first == UInt8(ascii: "/") else {
      throw .invalidURL("the request's path does not begin with a slash", hint: "write /PATH")
    }
    if path.firstByte(where: { $0 <= 0x20 || $0 >= 0x7F || $0 == UInt8(ascii: "#") }) != nil {
      throw .invalidURL(
        "the request's path has a character that cannot be sent", hint: "percent-encode spaces, # and non-ASCII")
    }
  }

  private static func checkBody(_ body: RequestBody) throws(TransportError) {
    if let length = body.length, length < 0 {
      throw .refused(.invalidBody, "the body's length is \(length), below 0", hint: "give nil if it is not known")
    }
    if body.trailers != nil, body.length != nil {
      throw .refused(
        .invalidBody, "the body has trailers and a known length", hint: "give them to a stream without a length")
    }
    guard body.contentType?.utf8.allSatisfy(isFieldByte) ?? true else { throw controlCharacter(in: "Content-Type") }
  }

  private static func check(
    _ field: HTTPField, _ request: ResourceRequest, _ hasHost: inout Bool
  ) throws(TransportError) {
    let name = field.name.canonicalName
    // The length rules out nearly every other name without comparing text.
    switch (name.utf8.count, name) {
    case (17, "transfer-encoding"), (7, "upgrade"), (14, "http2-settings"), (10, "keep-alive"),
      (16, "proxy-connection"):
      throw .refused(
        .conflictingFraming, "the engine sets the header field \(field.name.rawName) itself",
        hint: field.name == .transferEncoding
          ? "leave it out: over HTTP/1.1 a stream of unknown length is sent in chunks" : "leave it out")
    case (14, "content-length"):
      guard let length = request.body.length, Int64(digits: field.value) == length else {
        throw .refused(
          .conflictingFraming,
          "Content-Length is \(shown(field)), and the body's length \(request.body.length?.description ?? "not known")",
          hint: "leave the field out: the body knows its length; give a stream's length where the body is made")
      }
    case (10, "connection"):
      let value = field.value.lowercased()
      guard value == "close" || value == "keep-alive" else {
        throw .refused(
          .conflictingFraming, "Connection is \(shown(field)), neither close nor keep-alive", hint: "leave it out")
      }
    case (2, "te"):
      guard field.value.lowercased() == "trailers" else {
        throw .refused(.conflictingFraming, "the TE field is \(shown(field)), not trailers", hint: "leave it out")
      }
    case (4, "host"): try checkHost(field, request, &hasHost)
    default: break
    }
  }

  private static func checkHost(
    _ field: HTTPField, _ request: ResourceRequest, _ hasHost: inout Bool
  ) throws(TransportError) {
    guard !hasHost else {
      throw .refused(.invalidHeader, "the request has several Host header fields", hint: "leave them out")
    }
    hasHost = true
    if let host = request.options.hostField, host == field.value { return }
    guard let authority = request.head.authority, authority.isSameFieldName(as: field.value) else {
      throw .refused(
        .invalidHeader, "Host is \(shown(field)), and the URL's host \(request.head.authority ?? "")",
        hint: "leave it out; for a host at another address, use ConnectionOptions.resolve(_:port:to:), or --resolve")
    }
  }

  private static func isFieldByte(_ byte: UInt8) -> Bool { !byte.isControl || byte == 0x09 }

  private static func shown(_ field: HTTPField) -> String { field.value.onOneLine.cut(to: 60) }

  static func controlCharacter(in name: String) -> TransportError {
    .refused(
      .invalidHeader, "the value of the header field \(name) has a control character in it",
      hint: "write the value on one line: remove CR, LF, NUL and the like, or encode them")
  }
}

extension RequestCheck {
  /// Checks that an idempotency key is not empty and consists of visible ASCII characters.
  ///
  /// - Throws: code `invalid_option`, if it does not.
  static func checkIdempotencyKey(_ key: String) throws(TransportError) {
    guard !key.isEmpty, key.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
      throw .refused(
        .invalidOption, "the idempotency key \(key.isEmpty ? "is empty" : "has a character that is not visible ASCII")",
        hint: "give a UUID, or .generatedKey")
    }
  }
}
