// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes

/// The last look at a request before it leaves the pipeline. libcurl sends what it is given; what could be read as two
/// requests, or as another one, is refused here.
enum RequestCheck {
  /// - Throws: stage `request`, with a hint that teaches the fix.
  static func check(_ request: ResourceRequest) throws(TransportError) {
    try checkTarget(request.head)
    for field in request.head.headerFields {
      guard field.value.utf8.allSatisfy(ByteClass.isFieldValue) else {
        throw .refused(.invalidHeader, "the value of the header field \(field.name) has a control character")
      }
    }
    try checkFraming(request)
  }

  private static func checkTarget(_ head: HTTPRequest) throws(TransportError) {
    guard head.method.rawValue.utf8.allSatisfy(ByteClass.isToken), head.method != .connect else {
      throw .refused(.invalidMethod, "the method \(head.method.rawValue.debugDescription) cannot be used")
    }
    guard let scheme = head.scheme, scheme == "https" || scheme == "http" else {
      throw .refused(
        .unsupportedScheme, "the scheme \(head.scheme ?? "") is not supported", hint: "use https or http")
    }
    guard let authority = head.authority else {
      throw .refused(.invalidURL, "the request has no host", hint: "set the head's authority")
    }
    _ = try RequestTarget.authority(authority[...], scheme: scheme)
    guard let path = head.path, path.utf8.first == 0x2F,
      path.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != 0x23 })
    else {
      throw .refused(
        .invalidURL, "the path is not in origin form: it must begin with / and have no space, fragment or control character",
        hint: "percent-encode what the path may not have")
    }
  }

  private static func checkFraming(_ request: ResourceRequest) throws(TransportError) {
    let fields = request.head.headerFields
    guard !fields.isEmpty || !request.body.isEmpty else { return }
    for name in [HTTPField.Name.transferEncoding, .connection, .upgrade, .keepAlive, .http2Settings]
    where fields[name] != nil {
      throw .refused(
        .conflictingFraming, "the header field \(name) is the engine's own",
        hint: "remove it: the engine frames messages and manages connections")
    }
    if let te = fields[.te], te.lowercased() != "trailers" {
      throw .refused(.conflictingFraming, "the header field TE may only say trailers", hint: "remove it")
    }
    let lengths = fields[values: .contentLength]
    if !lengths.isEmpty {
      guard lengths.count == 1, let announced = Int64(lengths[0]), announced >= 0, announced == request.body.length else {
        throw .refused(
          .conflictingFraming, "Content-Length contradicts the body", hint: "remove it: the engine sets it from the body")
      }
    }
    let hosts = fields[values: .host]
    guard hosts.count <= 1, hosts.first.map({ $0.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != 0x40 && $0 != 0x2F } }) ?? true
    else {
      throw .refused(.conflictingFraming, "the header field Host is malformed or there twice")
    }
    if !request.body.isEmpty, [.head, .trace].contains(request.head.method) {
      throw .refused(
        .invalidBody, "\(request.head.method.rawValue) cannot have a body", hint: "use another method, or no body")
    }
  }
}

extension HTTPField.Name {
  static let keepAlive = HTTPField.Name("Keep-Alive") ?? .connection
  static let http2Settings = HTTPField.Name("HTTP2-Settings") ?? .connection
  static let host = HTTPField.Name("Host") ?? .connection
}
