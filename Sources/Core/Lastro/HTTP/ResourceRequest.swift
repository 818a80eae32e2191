// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes

/// A request with its body and options, as interceptors see it.
///
/// ```swift
/// var request = try ResourceRequest(url: "https://api.example.com/notes")
/// try request.setHeader("X-Api-Key", key)  // a Secret: it does not cross origins, and is masked
/// ```
public struct ResourceRequest: Sendable {
  private struct Parts: Sendable {
    var head: HTTPRequest
    var body: RequestBody
    var options: RequestOptions
  }

  // Requests are copied often and rarely changed.
  private var parts: CopyOnWrite<Parts>

  /// The method, scheme, authority, path with query, and header fields.
  public var head: HTTPRequest {
    get { parts.value.head }
    _modify { yield &parts.value.head }
  }
  /// The body; empty by default.
  public var body: RequestBody {
    get { parts.value.body }
    _modify { yield &parts.value.body }
  }
  /// The options of the request.
  public var options: RequestOptions {
    get { parts.value.options }
    _modify { yield &parts.value.options }
  }

  /// Whether the request has passed ``RequestCheck``. The same value need not be checked again.
  var isChecked: Bool { parts.isMarked }

  func markChecked() { parts.mark() }

  /// Makes a request.
  public init(head: HTTPRequest, body: RequestBody = .empty, options: RequestOptions = RequestOptions()) {
    parts = CopyOnWrite(Parts(head: head, body: body, options: options))
  }
}

extension ResourceRequest {
  /// Makes a request to an absolute URL. By default it is a GET with no fields, no body and default options.
  ///
  /// The URL is parsed as ``HTTPResourceEndpoint`` describes: percent-encoding is kept, characters that a URL may not
  /// contain are percent-encoded, the fragment is removed. These are refused: control characters, spaces, user
  /// information, schemes other than `http` and `https`, a missing host, and a port outside 1…65535.
  ///
  /// - Throws: stage `request`, with the code `invalid_url`, `unsupported_scheme` or `invalid_header`.
  public init(
    method: HTTPRequest.Method = .get, url: some URLConvertible, headers: RawHeaders = [:], body: RequestBody = .empty,
    options: RequestOptions = RequestOptions()
  ) throws(TransportError) {
    let target = try RequestTarget(url.urlText)
    let head = HTTPRequest(
      method: method, scheme: target.scheme, authority: target.authority, path: target.pathAndQuery,
      headerFields: try headers.checkedFields())
    self.init(head: head, body: body, options: options)
  }

  /// Makes a request to an absolute URL with a method that is known at run time, such as `"POST"`.
  ///
  /// - Throws: the errors of the other form; and the code `invalid_method` if `method` is not a token (RFC 9110 §9.1).
  @_disfavoredOverload
  public init(
    method: String, url: some URLConvertible, headers: RawHeaders = [:], body: RequestBody = .empty,
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
  package mutating func addHeader(_ name: String, _ value: String) throws(TransportError) {
    head.headerFields.append(try HTTPField(checkedName: name, value: value))
  }
}

extension ResourceRequest {
  /// The absolute URL, from the parts that the head has.
  package var url: String {
    let (scheme, authority, path) = (head.scheme ?? "", head.authority ?? "", head.path ?? "/")
    let length = scheme.utf8.count + 3 + authority.utf8.count + path.utf8.count
    // Write the string in one pass: every call needs it, and repeated appending would validate it each time.
    return String(unsafeUninitializedCapacity: length) { buffer in
      var end = buffer[...].update(fromContentsOf: scheme.utf8)
      end = buffer[end...].update(fromContentsOf: "://".utf8)
      end = buffer[end...].update(fromContentsOf: authority.utf8)
      return buffer[end...].update(fromContentsOf: path.utf8)
    }
  }

  /// The method and the URL, for errors: without user information, query values that may be secret, and the request's
  /// secrets.
  var summary: String { summary(Redaction.standard) }

  /// Returns the same text, with the secrets of a redaction masked as well.
  func summary(_ redaction: Redaction) -> String { head.summary(redaction.adding(self)) }
}

extension ResourceRequest {
  /// Whether the server may respond with 304 Not Modified (RFC 9110 §15.4.5).
  var isConditional: Bool {
    head.headerFields[.ifNoneMatch] != nil || head.headerFields[.ifModifiedSince] != nil
  }

  /// Whether the request may be sent more than once.
  package var isIdempotent: Bool {
    switch options.idempotency {
    case .idempotent, .generatedKey, .key: return true
    case .notIdempotent: return false
    case .byMethod:
      switch head.method {
      case .get, .head, .options, .trace, .put, .delete: return true
      default: return head.method.rawValue == "QUERY" || !(head.headerFields[.idempotencyKey] ?? "").isEmpty
      }
    }
  }
}

extension ResourceRequest {
  /// The parts of the request that a response may keep. The body and changed options are dropped, except for the `Host` field.
  var kept: ResourceRequest {
    guard !body.isEmpty || options.mayDifferFromDefaults else { return self }
    var kept = ResourceRequest(head: head)
    if let host = options.hostField { kept.options.hostField = host }
    return kept
  }
}
