// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes

/// What must not be seen in logs, error texts and rendered commands, told by the names that values go by.
///
/// A name is secret when it contains one of ``words``, or is one of ``names``; case, `-` and `_` do not count. That
/// goes for header fields, query items, and the keys of JSON and form bodies alike. The values of secret names come out
/// as ``mask``; so does user information in URLs, wherever a URL stands.
///
/// A header field is also secret when its last word is one of ``names``, as in `Fastly-Key`. A few keys that are no
/// secrets are excepted, such as `Idempotency-Key`.
///
/// The standard rules, with what a request's options name, also decide which header fields are credentials for the
/// rest of the library: such fields do not follow a redirect to another origin, and a cache keeps the responses to
/// requests with different ones apart.
///
/// What no name gives away (a secret in a path segment, behind a harmless name, repeated in an answer) is masked by its
/// value: ``RequestOptions/secrets``, or ``secrets`` here. Names are added by ``RequestOptions/sensitiveHeaders`` and
/// ``RequestOptions/sensitiveQueryItems``, or here. Neither finds a secret in compressed or binary bytes, which are not
/// rendered, nor one that was hashed.
public struct Redaction: Sendable, Hashable {
  /// What stands in place of a secret.
  public static let mask = "***"

  private struct Values: Sendable, Hashable {
    var words: Set<String>
    var names: Set<String>
    var queryNames: Set<String>
    var headers: Set<HTTPField.Name>
    var shownQueryItems: Set<String> = [
      "page", "perpage", "pagesize", "limit", "offset", "sort", "order", "orderby", "direction", "format", "version",
      "apiversion", "v", "lang", "locale", "listtype", "maxkeys", "maxparts", "maxuploads", "partnumber",
      "encodingtype", "fetchowner",
    ]
    var matcher = SecretMatcher()
  }

  private var storage: CopyOnWrite<Values>

  /// Parts of secret names: lower case, without `-` and `_`.
  public var words: Set<String> {
    _read { yield storage.value.words }
    _modify { yield &storage.value.words }
  }
  /// Whole secret names: lower case, without `-` and `_`. They count as last words of header fields too.
  public var names: Set<String> {
    _read { yield storage.value.names }
    _modify { yield &storage.value.names }
  }
  /// Whole names that are secret in queries and forms only. In JSON a `code` is most often an error's, and
  /// `pass` a result.
  public var queryNames: Set<String> {
    _read { yield storage.value.queryNames }
    _modify { yield &storage.value.queryNames }
  }
  /// Header fields that are secret besides those with secret names.
  public var headers: Set<HTTPField.Name> {
    _read { yield storage.value.headers }
    _modify { yield &storage.value.headers }
  }
  /// Query items whose values errors and ledgers show, the others being masked there: lower case, without `-` and `_`.
  /// A secret name stays secret, and so does a value of more than 64 bytes, or of others than letters, digits and
  /// `-._~,`. Default: those by which lists are paged, sorted and written, such as `page` and `per_page`.
  public var shownQueryItems: Set<String> {
    _read { yield storage.value.shownQueryItems }
    _modify { yield &storage.value.shownQueryItems }
  }
  /// Texts that are secret wherever they stand, whatever their notation: as they are, percent-encoded (also twice),
  /// with `+` for spaces, escaped as in JSON or HTML, in base64, in the middle of base64 as in Basic credentials.
  ///
  /// Those of fewer than 4 bytes of UTF-8 are not looked for: they stand in every text by chance. Without secrets this
  /// costs nothing.
  public var secrets: Set<Secret> {
    get { matcher.secrets }
    set { matcher = SecretMatcher(newValue) }
  }

  private var matcher: SecretMatcher {
    _read { yield storage.value.matcher }
    _modify { yield &storage.value.matcher }
  }

  /// Makes a redaction; by default the usual names.
  public init(
    words: Set<String> = [
      "token", "secret", "passw", "passphrase", "pwd", "apikey", "accesskey", "privatekey", "authorization",
      "credential", "session", "cookie", "signature", "assertion", "bearer", "jwt", "authkey", "subscriptionkey",
      "functionskey", "csrf", "xsrf", "hmac", "apisign", "accesssign",
    ],
    names: Set<String> = [
      "key", "sig", "auth", "xauth", "otp", "pin", "codeverifier", "devicecode", "dpop", "authentication",
      "xauthentication",
    ],
    queryNames: Set<String> = ["code", "pass"],
    headers: Set<HTTPField.Name> = []
  ) {
    storage = CopyOnWrite(Values(words: words, names: names, queryNames: queryNames, headers: headers))
  }

  /// The usual names.
  public static let standard = Redaction()

  /// Hides nothing but user information in URLs, and what a request names as secret. Not for production.
  public static let off = Redaction(words: [], names: [], queryNames: [], headers: [])

  /// With what the options of a request name besides: fields, items, secrets, the passwords of its connection.
  public func adding(_ options: RequestOptions) -> Redaction {
    guard options.mayDifferFromDefaults else { return self }
    let connection = options.connection?.secrets ?? []
    guard
      !options.sensitiveHeaders.isEmpty || !options.sensitiveQueryItems.isEmpty || !options.shownQueryItems.isEmpty
        || !options.secrets.isEmpty || !connection.isEmpty
    else { return self }
    var result = self
    result.headers.formUnion(options.sensitiveHeaders)
    result.names.formUnion(options.sensitiveQueryItems.map(Self.normalized))
    result.shownQueryItems.formUnion(options.shownQueryItems.map(Self.normalized))
    result.matcher.add(options.secrets)
    result.matcher.add(connection)
    return result
  }

  /// With what a request's options name besides, and the secrets of its body.
  public func adding(_ request: ResourceRequest) -> Redaction {
    var result = adding(request.options)
    if !request.body.secrets.isEmpty { result.matcher.add(Set(request.body.secrets)) }
    return result
  }

  /// With these ``secrets`` too.
  public func adding(_ secrets: some Sequence<Secret>) -> Redaction {
    var result = self
    result.matcher.add(Set(secrets))
    return result
  }

  /// Text with ``secrets`` masked, and nothing else.
  ///
  /// - Parameter isCut: whether the text goes on where it ends, so that half of a secret may stand there.
  package func secretsMasked(in text: String, isCut: Bool = false) -> String { matcher.masking(text, isCut: isCut) }

  /// Whether values of that name are secret.
  public func isSecret(name: String, inQuery: Bool = false) -> Bool {
    let name = Self.normalized(name)
    return names.contains(name) || inQuery && queryNames.contains(name)
      || words.contains(where: name.contains(bytesOf:))
  }

  /// Whether the values of that header field are secret.
  public func isSecret(_ header: HTTPField.Name) -> Bool {
    headers.contains(header) || isSecret(name: header.canonicalName) || hasSecretLastWord(header.canonicalName)
  }

  private func hasSecretLastWord(_ header: String) -> Bool {
    guard let hyphen = header.utf8.lastIndex(of: UInt8(ascii: "-")) else { return false }
    let word = header[header.utf8.index(after: hyphen)...]
    let before = header[..<hyphen].split(separator: "-").last ?? ""
    return names.contains(String(word)) && !(word == "key" && Self.openKeys.contains(before))
  }

  /// The words before `-Key` in header fields that are no secrets.
  private static let openKeys: Set<Substring> = [
    "cache", "deduplication", "idempotency", "partition", "public", "routing", "surrogate", "websocket",
  ]

  /// The value of a header field as it may be seen.
  public func value(of field: HTTPField) -> String {
    switch field.name {
    case .wwwAuthenticate, .proxyAuthenticate: matcher.masking(field.value)  // Asks for secrets, has none of its own.
    default: isSecret(field.name) ? Self.mask : text(field.value)
    }
  }

  /// A URL as it may be seen: without user information, the values of secret items in query and fragment masked.
  public func url(_ url: String) -> String {
    let masked = Self.maskingUserInformation(matcher.masking(url))
    guard let mark = masked.utf8.firstIndex(where: { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }) else {
      return masked
    }
    var result = String(masked[..<mark])
    var rest = masked[mark...]
    // Each round takes one separator and the item after it.
    while let separator = rest.first {
      rest = rest.dropFirst()
      let item = rest.prefix { !"?&;#".contains($0) }
      rest = rest[item.endIndex...]
      result.append(separator)
      result += self.item(item)
    }
    return result
  }

  private func item(_ item: Substring) -> String {
    guard let equals = item.firstIndex(of: "=") else { return String(item) }
    let written = item[..<equals]
    let name = written.percentDecodedBytes.map { String(decoding: $0, as: UTF8.self) } ?? String(written)
    return isSecret(name: name, inQuery: true) ? "\(written)=\(Self.mask)" : String(item)
  }

  /// An item of a query as errors show it. One without a value may be a value itself, unless it is a word that names a
  /// part of a resource, as in `?uploads`.
  func shown(queryItem item: Substring) -> String {
    guard let equals = item.utf8.firstIndex(of: UInt8(ascii: "=")) else {
      return Self.openFlags.contains(item) ? String(item) : Self.mask
    }
    let name = String(item[..<equals])
    let value = item[equals...].utf8.dropFirst()
    // Nothing that a server may take for the beginning of another item.
    let isShown =
      shownQueryItems.contains(Self.normalized(name)) && !isSecret(name: name, inQuery: true) && value.count <= 64
      && value.allSatisfy { ByteSet.unreserved.contains($0) || $0 == UInt8(ascii: ",") }
    return isShown ? String(item) : "\(name)=\(Self.mask)"
  }

  /// The names of S3's subresources.
  private static let openFlags: Set<Substring> = [
    "accelerate", "acl", "analytics", "attributes", "cors", "delete", "encryption", "inventory", "legal-hold",
    "lifecycle", "location", "logging", "metrics", "notification", "object-lock", "ownershipControls", "policy",
    "policyStatus", "publicAccessBlock", "replication", "requestPayment", "restore", "retention", "tagging", "torrent",
    "uploads", "versioning", "versions", "website",
  ]

  private static func normalized(_ name: String) -> String {
    name.lowercased().filter { $0 != "-" && $0 != "_" }
  }
}

extension String {
  /// Whether the bytes of another string stand in this one.
  fileprivate func contains(bytesOf word: String) -> Bool {
    var rest = utf8[...]
    while rest.count >= word.utf8.count {
      if rest.starts(with: word.utf8) { return true }
      rest = rest.dropFirst()
    }
    return false
  }
}
