// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes

extension ResourceRequest {
  /// Makes a request to an absolute URL. By default it is a GET with no fields, no body and default options.
  ///
  /// The URL is parsed as ``HTTPResourceEndpoint`` describes: percent-encoding is kept, characters that a URL may not
  /// contain are percent-encoded, the fragment is removed. These are refused: control characters, spaces, user
  /// information, schemes other than `http` and `https`, a missing host, and a port outside 1…65535.
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

  /// Makes a request to an absolute URL, with an unchecked method.
  ///
  /// - Throws: the errors of the other form; and the code `invalid_method` if `method` is not a token (RFC 9110 §9.1).
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

  /// Sets a header field to one value, replacing all its values.
  ///
  /// - Throws: stage `request`, code `invalid_header`, if the name or value is not allowed (RFC 9110 §5.1, §5.5).
  public mutating func setHeader(_ name: String, _ value: String) throws(TransportError) {
    let field = try HTTPField(checkedName: name, value: value)
    head.headerFields[fields: field.name] = [field]
  }

  /// Adds a header field, and keeps those of the same name.
  ///
  /// - Throws: stage `request`, code `invalid_header`, if the name or value is not allowed (RFC 9110 §5.1, §5.5).
  public mutating func addHeader(_ name: String, _ value: String) throws(TransportError) {
    head.headerFields.append(try HTTPField(checkedName: name, value: value))
  }
}
