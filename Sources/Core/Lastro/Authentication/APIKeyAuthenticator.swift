// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes

/// The interceptor that `.apiKey(_:header:prefix:origins:)`, `.apiKey(_:queryItem:origins:)` and `.bearer(_:for:)`
/// make, where it is documented.
package struct APIKeyAuthenticator: RequestAuthenticator, HTTPResourceInterceptor, ScopedAuthenticator,
  PromptInterceptor
{
  /// The place of the key in a request.
  package enum Placement: Sendable, Hashable {
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
  /// - Throws: ``ConfigurationError`` for an invalid argument.
  package init(
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
  package func authenticate(_ request: ResourceRequest) async throws -> ResourceRequest { try keyed(request) }

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
