// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes

extension ResourceRequest {
  /// Makes a request to an absolute URL: a GET with no fields, no body and default options, unless said otherwise.
  ///
  /// The URL is read as ``HTTPResourceEndpoint`` describes: percent-encoding is kept, what a URL may not contain is
  /// percent-encoded, the fragment is dropped. The raw string is checked first: control characters, spaces and user
  /// information are refused, and so are other schemes than `http` and `https`, a missing host, and a port outside
  /// 1…65535.
  ///
  /// - Throws: stage `request`, with the code `invalid_url`, `unsupported_scheme` or `invalid_header`.
  public init(
    method: HTTPRequest.Method = .get, url: String, headers: RawHeaders = [:], body: RequestBody = .empty,
    options: RequestOptions = RequestOptions()
  ) throws(TransportError) {
    let target = try RequestTarget(url)
    let head = HTTPRequest(
      method: method, scheme: target.scheme, authority: target.authority, path: target.pathAndQuery,
      headerFields: try headers.checkedFields())
    self.init(head: head, body: body, options: options)
  }

  /// Makes a request to an absolute URL, with a method that was not checked yet.
  ///
  /// - Throws: as the other form, and the code `invalid_method` when `method` is not a token (RFC 9110 §9.1).
  @_disfavoredOverload
  public init(
    method: String, url: String, headers: RawHeaders = [:], body: RequestBody = .empty,
    options: RequestOptions = RequestOptions()
  ) throws(TransportError) {
    guard let checked = HTTPRequest.Method(method) else {
      throw .refused(
        .invalidMethod, "\"\(method.prefix(40).escapedForDisplay)\" cannot be a request method",
        hint: "write a word such as GET, in upper case")
    }
    try self.init(method: checked, url: url, headers: headers, body: body, options: options)
  }

  /// Sets a header field to one value, in place of all it had.
  ///
  /// - Throws: stage `request`, code `invalid_header`, when name or value are not allowed (RFC 9110 §5.1, §5.5).
  public mutating func setHeader(_ name: String, _ value: String) throws(TransportError) {
    let field = try HTTPField(checkedName: name, value: value)
    head.headerFields[fields: field.name] = [field]
  }

  /// Adds a header field, besides those of the same name.
  ///
  /// - Throws: stage `request`, code `invalid_header`, when name or value are not allowed (RFC 9110 §5.1, §5.5).
  public mutating func addHeader(_ name: String, _ value: String) throws(TransportError) {
    head.headerFields.append(try HTTPField(checkedName: name, value: value))
  }
}
