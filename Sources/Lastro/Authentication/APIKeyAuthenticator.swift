// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes

/// A key on every request to the given origins: in a header field, or in the query.
///
/// ```swift
/// let key = try APIKeyAuthenticator(key, in: .header("X-API-Key"), origins: [origin])
/// ```
///
/// What the request has under that name is replaced, and the name is added to ``RequestOptions/sensitiveHeaders`` or
/// ``RequestOptions/sensitiveQueryItems``. Requests to other origins pass as they are. A 401 is not retried.
public struct APIKeyAuthenticator: RequestAuthenticator, HTTPResourceInterceptor {
  /// Where in a request the key stands.
  public enum Placement: Sendable, Hashable {
    /// In a header field, after a prefix, which is sent as written: `.header("Authorization", prefix: "Token ")`.
    case header(_ name: String, prefix: String = "")
    /// In a query item; name and key are percent-encoded (RFC 3986). An item of that name is replaced, others keep
    /// order and spelling. Servers log URLs: take a header field where there is a choice.
    case queryItem(_ name: String)
  }

  /// Where in a request the key stands.
  public let placement: Placement
  /// Where the key goes, and nowhere else.
  public var origins: [Origin] { scope.origins }
  /// As ``origins``.
  public var credentialOrigins: [Origin] { scope.origins }
  /// False: a key is at hand, so no task is made for the hook.
  public var hooksWait: Bool { false }

  private let scope: CredentialScope
  private let key: Secret

  /// Makes an authenticator.
  ///
  /// - Parameters:
  ///   - key: one line; not empty.
  ///   - placement: where in a request it stands.
  ///   - origins: where it goes; at least one.
  ///   - allowsInsecureOrigins: whether an origin may be `http` on another machine, where everyone on the way reads
  ///     the key. Default false: `http` is for this machine only (`localhost`, 127.0.0.0/8, `[::1]`).
  /// - Throws: ``ConfigurationError``: no origin; one in clear; a key that is empty, or has control characters or
  ///   surrounding blanks; a header field name that is not a token, or that the engine sets; an empty query item name.
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
        "the API key has a control character in it, or a blank at an end",
        hint: "trim it: a key read from a file often ends in a line's end")
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

  /// Sets the field or the item where the request goes to one of ``origins``.
  ///
  /// - Throws: stage `request`, code `invalid_header`, when the key cannot stand in the field.
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
  /// A path with a query, one item of which has this value: in place of the first of that name, or at the end.
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

  /// `+` counts as a blank, as servers read forms.
  private static func isItem(_ item: Substring, named name: String) -> Bool {
    let written = item.prefix { $0 != "=" }
    let spaced = String(decoding: written.utf8.map { $0 == UInt8(ascii: "+") ? 0x20 : $0 }, as: UTF8.self)
    return [written, spaced[...]].contains { $0.percentDecodedBytes.map { $0.elementsEqual(name.utf8) } ?? false }
  }
}
