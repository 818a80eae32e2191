// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
public import HTTPTypes

/// An endpoint of an API, usually a case of an enum. It provides the parts of the endpoint's request.
///
/// The URL is built by these rules (`h` is `https://h.com`):
///
/// | base | path | items | on the wire | rule |
/// |---|---|---|---|---|
/// | `h` | nil | nil | `h/` | an empty path is `/` |
/// | `h/v1` | `users` or `/users` | nil | `h/v1/users` | exactly one `/` at the join |
/// | `h/v1//` | `///y` | nil | `h/v1/y` | … however many there were |
/// | `h/v1//x` | `/y//z/` | nil | `h/v1//x/y//z/` | other slashes stay, the last one too |
/// | `h/a%2Fb` | `/c%20d` | nil | `h/a%2Fb/c%20d` | percent-encoding stays as written |
/// | `h/v1` | `/50%/é b` | nil | `h/v1/50%25/%C3%A9%20b` | what a path may not contain is encoded, a stray `%` too |
/// | `h/v1` | `/a?x=1#f` | nil | `h/v1/a%3Fx=1%23f` | a path cannot smuggle in a query |
/// | `h/v1` | `/../x` | nil | `h/v1/../x` | dot segments are not resolved |
/// | `h/v1` | nil | `[]` | `h/v1` | no items, no `?` |
/// | `h/v1` | nil | `q` = `1+1 & é;/?` | `h/v1?q=1%2B1%20%26%20%C3%A9%3B%2F%3F` | only `A–Z a–z 0–9 - . _ ~` stay |
/// | `h/v1` | nil | `a` = nil, `b` = "" | `h/v1?a&b=` | no value, and an empty value |
/// | `h/v1?k=1%2B1` | nil | `b` | `h/v1?k=1%2B1&b` | the base's query first and as written |
/// | `h/v1?a=1#frag` | `/x` | `b` = "" | `h/v1/x?a=1&b=` | the fragment is not sent |
/// | `https://h.com:443` | nil | nil | `h/` | the default port is not sent |
/// | `https://u:p@h.com` | | | refused | credentials belong in `Authorization` |
///
/// Escape segments that you interpolate into `path` and do not control with `String.pathSegment`.
///
/// ```swift
/// enum GitHub: HTTPResourceEndpoint {
///   case user(login: String)
///
///   var baseURL: URL { URL(string: "https://api.github.com")! }
///   var path: String? {
///     switch self {
///     case .user(let login): "users/\(login.pathSegment)"
///     }
///   }
/// }
/// ```
public protocol HTTPResourceEndpoint: Sendable {
  /// The request method. Default GET.
  var method: HTTPRequest.Method { get }
  /// The base URL, to which `path` and `queryItems` are added. It must be absolute, `http` or `https`. Default: that of
  /// the stack (``StackConfiguration/baseURL``), which, if set, also replaces any other base URL.
  var baseURL: URL { get }
  /// The path, which is appended to the base URL's path. Default `nil`.
  var path: String? { get }
  /// The query items, which are appended to the base URL's query. Names and values are not encoded. Default `nil`.
  var queryItems: [URLQueryItem]? { get }
  /// The header fields. Default `nil`.
  var headers: RawHeaders? { get }
  /// The options of the request. Default: nothing set.
  var options: RequestOptions { get }
  /// Makes the body. Called for every attempt. Default `nil`: no body.
  ///
  /// - Throws: an error if the body cannot be made; the attempt fails with it, before anything is sent.
  func makeBody() throws -> RequestBody?
  /// Adds secrets, with ``ResourceRequest/setHeader(_:_:prefix:)``, ``ResourceRequest/appendQueryItem(_:_:)`` and
  /// ``ResourceRequest/appendPathSegment(_:)``. The default implementation of ``makeRequest()`` calls it last. Default:
  /// adds nothing.
  ///
  /// - Throws: an error if a secret cannot be added; the attempt fails with it, before anything is sent.
  func addSecrets(to request: inout ResourceRequest) throws
  /// Makes the request. Called for every attempt. The default follows the rules above.
  ///
  /// - Throws: stage `request`, with the code `invalid_url`, `unsupported_scheme` or `invalid_header`; and the errors
  ///   of ``makeBody()`` and ``addSecrets(to:)``, unchanged.
  func makeRequest() throws -> ResourceRequest
}

extension HTTPResourceEndpoint {
  /// The default: GET.
  public var method: HTTPRequest.Method { .get }
  // Forced: a scheme and a host name always form a valid URL.
  // swift-format-ignore: NeverForceUnwrap
  /// The default: a placeholder for the stack's base URL.
  public var baseURL: URL { URL(string: RequestTarget.stacksBase)! }
  /// The default: `nil`, which adds nothing to the base URL's path.
  public var path: String? { nil }
  /// The default: `nil`, which adds nothing to the base URL's query.
  public var queryItems: [URLQueryItem]? { nil }
  /// The default: no header fields beyond the stack's.
  public var headers: RawHeaders? { nil }
  /// The default: nothing set, so the stack's options apply.
  public var options: RequestOptions { RequestOptions() }
  /// The default: the request has no body.
  public func makeBody() throws -> RequestBody? { nil }
  /// The default: the request has no secrets beyond those of its credentials.
  public func addSecrets(to request: inout ResourceRequest) throws {}

  /// Makes the request by the rules of the protocol.
  ///
  /// - Throws: stage `request`, with the code `invalid_url`, `unsupported_scheme` or `invalid_header`; and the errors
  ///   of ``makeBody()`` and ``addSecrets(to:)``, unchanged.
  public func makeRequest() throws -> ResourceRequest {
    var target = try RequestTarget(baseURL.absoluteString)
    if let path { target.append(path: path) }
    if let queryItems { target.append(queryItems: queryItems.map { ($0.name, $0.value) }) }
    let head = HTTPRequest(
      method: method, scheme: target.scheme, authority: target.authority, path: target.pathAndQuery,
      headerFields: try headers?.checkedFields() ?? [:])
    var request = ResourceRequest(head: head, body: try makeBody() ?? .empty, options: options)
    try addSecrets(to: &request)
    return request
  }
}

extension RequestTarget {
  /// Appends a path, with exactly one slash at the join.
  mutating func append(path added: String) {
    guard !added.isEmpty else { return }
    let slash = UInt8(ascii: "/")
    let end = path.utf8.lastIndex { $0 != slash }.map(path.utf8.index(after:)) ?? path.startIndex
    let start = added.utf8.firstIndex { $0 != slash } ?? added.endIndex
    path = path[..<end] + "/" + added[start...].sanitized(keeping: .path)
  }

  /// Appends query items, percent-encoded.
  mutating func append(queryItems: [(name: String, value: String?)]) {
    guard !queryItems.isEmpty else { return }
    var text = query ?? ""
    for (name, value) in queryItems {
      if !text.isEmpty, text.utf8.last != UInt8(ascii: "&") { text += "&" }
      text += name.percentEncoded(keeping: .unreserved)
      if let value { text += "=" + value.percentEncoded(keeping: .unreserved) }
    }
    query = text
  }
}
