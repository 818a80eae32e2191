// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes

extension ResourceRequest {
  /// Makes a request from raw text, all of it checked.
  ///
  /// - Parameters:
  ///   - method: a token (RFC 9110 §9.1). Upper and lower case differ.
  ///   - url: an absolute `http` or `https` URL. Valid `%XX` stays as written; a stray `%` and characters a URL cannot
  ///     have are percent-encoded. The fragment is dropped: it is never sent.
  ///   - headers: header fields.
  ///   - body: the body; its content type is set where the fields have none.
  ///   - options: options of the request.
  /// - Throws: stage `request`: `invalid_method`, `invalid_url`, `unsupported_scheme`, `invalid_header`.
  public init(
    method: String, url: String, headers: RawHeaders = [:], body: RequestBody = .empty,
    options: RequestOptions = RequestOptions()
  ) throws(TransportError) {
    guard let parsed = HTTPRequest.Method(method), !method.isEmpty else {
      throw .refused(
        .invalidMethod, "the method \(method.debugDescription) is no token", hint: "such as GET, POST or PUT")
    }
    self.init(target: try RequestTarget(url), method: parsed, fields: try headers.checkedFields(), body: body, options: options)
  }

  init(
    target: RequestTarget, method: HTTPRequest.Method, fields: HTTPFields, body: RequestBody, options: RequestOptions
  ) {
    var fields = fields
    if let contentType = body.contentType, fields[.contentType] == nil { fields[.contentType] = contentType }
    let head = HTTPRequest(
      method: method, scheme: target.scheme, authority: target.authority, path: target.text, headerFields: fields)
    self.init(head: head, body: body, options: options)
  }
}
