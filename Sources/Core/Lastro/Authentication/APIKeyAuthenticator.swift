// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes

/// An authenticator that adds an API key to every request to the given origins, in a header field or in the query.
///
/// ```swift
/// let key = try APIKeyAuthenticator(key, in: .header("X-API-Key"), origins: [origin])
/// ```
///
/// An existing field or query item of that name is replaced, and the name is added to
/// ``RequestOptions/sensitiveHeaders`` or ``RequestOptions/sensitiveQueryItems``. Requests to other origins are not
/// changed. A 401 is not retried.
public struct APIKeyAuthenticator: RequestAuthenticator, HTTPResourceInterceptor, ScopedAuthenticator,
  PromptInterceptor
{
  /// The place of the key in a request.
  public enum Placement: Sendable, Hashable {
    /// The key is in a header field, after a prefix that is sent as written, including its space:
    /// `.header("Authorization", prefix: "Token ")`.
    case header(_ name: String, prefix: String = "")
    /// The key is in a query item; its name and the key are percent-encoded (RFC 3986). An existing item of that name
    /// is replaced, and the other items keep their order and spelling. Servers log URLs, so prefer a header field.
    case queryItem(_ name: String)
  }

  /// The place of the key in a request.
  package let placement: Placement
  /// The only origins that receive the key.
  package var origins: [Origin] { scope.origins }

  private let scope: CredentialScope
  private let key: Secret

  /// Creates an authenticator.
  ///
  /// - Parameters:
  ///   - key: the key, on one line; not empty.
  ///   - placement: the place of the key in a request.
  ///   - origins: the origins that receive the key; at least one.
  ///   - allowsInsecureOrigins: whether an origin may use `http` to another machine, where anyone on the network path
  ///     can read the key. Default `false`: `http` is accepted only for this machine (`localhost`, 127.0.0.0/8,
  ///     `[::1]`).
  /// - Throws: ``ConfigurationError`` if there is no origin or an insecure one; if the key is empty, or has control
  ///   characters or surrounding blanks; if the name of the header field is not a token, or the engine sets that field;
  ///   if its prefix begins with a blank or has control characters; or if the name of the query item is empty.
  public init(
    _ key: Secret, in placement: Placement, origins: [Origin], allowsInsecureOrigins: Bool = false
  ) throws(ConfigurationError) {
    scope = try CredentialScope(origins, allowsInsecureOrigins: allowsInsecureOrigins)
    let text = key.reveal()
    guard !text.isEmpty else {
      throw ConfigurationError("the API key is empty", hint: "give the key that the API's owner issued")
    }
    guard !text.hasControlCharacter, text.first != " ", text.last != " " else {
      throw ConfigurationError(
        "the API key contains a control character, or begins or ends with a blank",
        hint: "trim it: a key read from a file often ends with a newline")
    }
    try Self.check(placement)
    self.key = key
    self.placement = placement
  }

  private static func check(_ placement: Placement) throws(ConfigurationError) {
    switch placement {
    case .header(let name, let prefix):
      guard let field = HTTPField.Name(name) else {
        throw ConfigurationError(
          "\"\(name.prefix(40).escapedForDisplay)\" cannot be the name of a header field",
          hint: "letters, digits and !#$%&'*+-.^_`|~ are allowed")
      }
      guard !engineFields.contains(field.canonicalName) else {
        throw ConfigurationError("the engine sets the header field \(name) itself", hint: "take another name")
      }
      guard !prefix.hasControlCharacter, prefix.first != " " else {
        throw ConfigurationError(
          "the prefix begins with a blank, or has a control character in it",
          hint: "write it as \"Token \", on one line")
      }
    case .queryItem(let name):
      guard !name.isEmpty else {
        throw ConfigurationError("the name of the query item is empty", hint: "give the name that the API reads")
      }
    }
  }

  private static let engineFields: Set<String> = [
    "connection", "content-length", "host", "http2-settings", "keep-alive", "proxy-connection", "te",
    "transfer-encoding", "upgrade",
  ]

  /// Sets the header field or the query item if the request goes to one of its origins.
  ///
  /// - Throws: an error with stage `request` and code `invalid_header` if the key is not valid in the field.
  public func authenticate(_ request: ResourceRequest) async throws -> ResourceRequest { try keyed(request) }

  func keyed(_ request: ResourceRequest) throws -> ResourceRequest {
    guard scope.covers(request) else { return request }
    var request = request
    switch placement {
    case .header(let name, let prefix):
      try request.setHeader(name, key, prefix: prefix)
    case .queryItem(let name):
      request.head.path = (request.head.path ?? "/").settingQueryItem(name, to: key.reveal())
      request.options.sensitiveQueryItems.insert(name)
      request.options.secrets.insert(key)
    }
    return request
  }
}

extension String {
  /// Returns a path in which a query item has the given value. The item replaces the first item of that name, or is
  /// added at the end.
  fileprivate func settingQueryItem(_ name: String, to value: String) -> String {
    let item = name.percentEncoded(keeping: .unreserved) + "=" + value.percentEncoded(keeping: .unreserved)
    guard let mark = utf8.firstIndex(of: UInt8(ascii: "?")) else { return self + "?" + item }
    let query = self[utf8.index(after: mark)...]
    guard !query.isEmpty else { return self + item }
    var items: [String] = []
    var isSet = false
    for other in query.split(separator: "&", omittingEmptySubsequences: false) {
      if Self.isItem(other, named: name) {
        if !isSet { items.append(item) }
        isSet = true
      } else {
        items.append(String(other))
      }
    }
    if !isSet { items.append(item) }
    return self[...mark] + items.joined(separator: "&")
  }

  /// Returns whether a query item has the given name. `+` counts as a blank, because servers read it so in forms.
  private static func isItem(_ item: Substring, named name: String) -> Bool {
    let written = item.prefix { $0 != "=" }
    let spaced = String(decoding: written.utf8.map { $0 == UInt8(ascii: "+") ? 0x20 : $0 }, as: UTF8.self)
    return [written, spaced[...]].contains { $0.percentDecodedBytes.map { $0.elementsEqual(name.utf8) } ?? false }
  }
}
