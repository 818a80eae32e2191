// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes
internal import LastroWire

/// The rules for hiding secrets in logs, error texts and rendered commands, by the names of the values.
///
/// A name is secret if it contains one of the redaction's words, or is one of its names, ignoring case, `-` and `_`.
/// This applies to header fields, query items, and the keys of JSON and form bodies. The values of secret names are
/// replaced by ``mask``, and so is user information in URLs anywhere in a text.
///
/// A header field is also secret if its last word is one of the names, as in `Fastly-Key`. A few fields whose keys are
/// not secret are excepted, such as `Idempotency-Key`.
///
/// The standard rules, together with the names in a request's options, also define which header fields are credentials
/// in the rest of the library. Such fields are removed on a redirect to another origin, and a cache separates the
/// responses to requests with different credentials.
///
/// A secret without a telling name (in a path segment, under a harmless name, repeated in a response) is masked by its
/// value: see ``RequestOptions/secrets``, and ``secrets`` here. Add names with ``RequestOptions/sensitiveHeaders`` and
/// ``RequestOptions/sensitiveQueryItems``, or with the initializer. Neither method finds a secret in compressed or
/// binary bytes, which are not rendered, or a secret that was hashed.
public struct Redaction: Sendable, Hashable {
  /// The text that replaces a secret.
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
    var filler: UInt8?
  }

  private var storage: CopyOnWrite<Values>

  /// Parts of secret names, in lower case, without `-` and `_`.
  package var words: Set<String> { storage.value.words }
  /// Complete secret names, in lower case, without `-` and `_`. They also apply to the last words of header fields.
  package var names: Set<String> { storage.value.names }
  /// Complete names that are secret only in queries and forms. In JSON, `code` is usually an error code, and `pass` is
  /// a result.
  package var queryNames: Set<String> { storage.value.queryNames }
  /// Additional secret header fields, besides those with secret names.
  package var headers: Set<HTTPField.Name> { storage.value.headers }
  /// The query items whose values are shown in errors and ledgers, in lower case, without `-` and `_`. All others are
  /// masked there. An item with a secret name is masked in any case. So is a value of more than 64 bytes, or with
  /// characters other than letters, digits and `-._~,`. They are the usual items for paging, sorting and formats, such
  /// as `page` and `per_page`. ``RequestOptions/shownQueryItems`` adds others.
  package var shownQueryItems: Set<String> { storage.value.shownQueryItems }
  /// Texts that are secret anywhere, in any notation: unchanged, percent-encoded (also twice), with `+` for spaces,
  /// escaped as in JSON or HTML, in base64, or within base64 as in Basic credentials.
  ///
  /// Secrets of fewer than 4 bytes of UTF-8 are ignored, because they occur in many texts by chance. Without secrets,
  /// the search has no cost.
  public var secrets: Set<Secret> {
    get { matcher.secrets }
    set { storage.value.matcher = SecretMatcher(newValue) }
  }

  private var matcher: SecretMatcher { storage.value.matcher }

  /// The same redaction, but each byte of a secret is replaced by `*`, so that texts keep their length. Used where the
  /// lengths matter, as in the trace of a call.
  package var keepingLengths: Redaction {
    var result = self
    result.storage.value.filler = UInt8(ascii: "*")
    return result
  }

  private var filler: UInt8? { storage.value.filler }

  /// Returns the replacement of a secret of a number of bytes.
  private func mask(of count: Int) -> String { filler == nil ? Self.mask : String(repeating: "*", count: count) }

  /// Creates a redaction; by default with the usual names.
  ///
  /// - Parameters:
  ///   - words: parts of secret names, in lower case, without `-` and `_`.
  ///   - names: complete secret names, in the same form. They also apply to the last words of header fields.
  ///   - queryNames: complete names that are secret only in queries and forms, in the same form. In JSON, `code` is
  ///     usually an error code, and `pass` is a result.
  ///   - headers: additional secret header fields, besides those with secret names.
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

  /// The redaction with the usual names.
  public static let standard = Redaction()

  /// A redaction that hides only user information in URLs, and the secrets named by a request. Not for production.
  public static let off = Redaction(words: [], names: [], queryNames: [], headers: [])

  /// Returns a redaction that also hides the fields, items and secrets named by a request's options, and the passwords
  /// of its connection.
  package func adding(_ options: RequestOptions) -> Redaction {
    guard options.mayDifferFromDefaults else { return self }
    let connection = options.connection?.secrets ?? []
    guard
      !options.sensitiveHeaders.isEmpty || !options.sensitiveQueryItems.isEmpty || !options.shownQueryItems.isEmpty
        || !options.secrets.isEmpty || !connection.isEmpty
    else { return self }
    var result = self
    result.storage.value.headers.formUnion(options.sensitiveHeaders)
    result.storage.value.names.formUnion(options.sensitiveQueryItems.map(Self.normalized))
    result.storage.value.shownQueryItems.formUnion(options.shownQueryItems.map(Self.normalized))
    result.storage.value.matcher.add(options.secrets)
    result.storage.value.matcher.add(connection)
    return result
  }

  /// Returns a redaction that also hides the secrets named by a request's options and those of its body.
  public func adding(_ request: ResourceRequest) -> Redaction {
    var result = adding(request.options)
    if !request.body.secrets.isEmpty { result.storage.value.matcher.add(Set(request.body.secrets)) }
    return result
  }

  /// Returns a redaction that also hides the given ``secrets``.
  package func adding(_ secrets: some Sequence<Secret>) -> Redaction {
    var result = self
    result.storage.value.matcher.add(Set(secrets))
    return result
  }

  /// Returns a text in which only ``secrets`` are masked.
  ///
  /// - Parameter isCut: whether the text is truncated at its end, so that it may end with a part of a secret.
  package func secretsMasked(in text: String, isCut: Bool = false) -> String {
    matcher.masking(text, isCut: isCut, filler: filler)
  }

  /// Returns whether values of the given name are secret.
  package func isSecret(name: String, inQuery: Bool = false) -> Bool {
    let name = Self.normalized(name)
    return names.contains(name) || inQuery && queryNames.contains(name)
      || words.contains(where: name.contains(bytesOf:))
  }

  /// Returns whether the values of the given header field are secret.
  package func isSecret(_ header: HTTPField.Name) -> Bool {
    headers.contains(header) || isSecret(name: header.canonicalName) || hasSecretLastWord(header.canonicalName)
  }

  private func hasSecretLastWord(_ header: String) -> Bool {
    guard let hyphen = header.utf8.lastIndex(of: UInt8(ascii: "-")) else { return false }
    let word = header[header.utf8.index(after: hyphen)...]
    let before = header[..<hyphen].split(separator: "-").last ?? ""
    return names.contains(String(word)) && !(word == "key" && Self.openKeys.contains(before))
  }

  /// Words before `-Key` in the names of header fields that are not secret.
  private static let openKeys: Set<Substring> = [
    "cache", "deduplication", "idempotency", "partition", "public", "routing", "surrogate", "websocket",
  ]

  /// Returns the value of a header field with its secrets masked.
  package func value(of field: HTTPField) -> String {
    switch field.name {
    // These ask for secrets, and have none of their own.
    case .wwwAuthenticate, .proxyAuthenticate: matcher.masking(field.value, filler: filler)
    default: isSecret(field.name) ? mask(of: field.value.utf8.count) : text(field.value)
    }
  }

  /// Returns a URL without user information, with the values of secret items in the query and the fragment masked.
  public func url(_ url: String) -> String {
    let masked = Self.maskingUserInformation(matcher.masking(url, filler: filler), filler: filler)
    guard let mark = masked.utf8.firstIndex(where: { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }) else {
      return masked
    }
    var result = String(masked[..<mark])
    var rest = masked[mark...]
    // Each iteration consumes one separator and the item after it.
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
    guard isSecret(name: name, inQuery: true) else { return String(item) }
    return "\(written)=\(mask(of: item[equals...].utf8.count - 1))"
  }

  /// Returns a query item as errors show it. An item without `=` may itself be a value, so it is masked, unless it is a
  /// known name of a subresource, as in `?uploads`.
  func shown(queryItem item: Substring) -> String {
    guard let equals = item.utf8.firstIndex(of: UInt8(ascii: "=")) else {
      return Self.openFlags.contains(item) ? String(item) : Self.mask
    }
    let name = String(item[..<equals])
    let value = item[equals...].utf8.dropFirst()
    // The value must not have characters that a server may treat as the beginning of another item.
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

  /// Returns a name in lower case, without `-` and `_`.
  package static func normalized(_ name: String) -> String {
    name.lowercased().filter { $0 != "-" && $0 != "_" }
  }
}

extension String {
  /// Returns whether this string contains the bytes of another string.
  fileprivate func contains(bytesOf word: String) -> Bool {
    var rest = utf8[...]
    while rest.count >= word.utf8.count {
      if rest.starts(with: word.utf8) { return true }
      rest = rest.dropFirst()
    }
    return false
  }
}

extension Redaction {
  /// Returns any kind of text with its secrets masked. The value after every secret name in JSON, form, query or header
  /// notation is masked. User information in URLs, and all occurrences of ``secrets``, are masked as well.
  ///
  /// The text is not parsed, so truncated text is handled too: a value without an end is masked up to the end of the
  /// text.
  public func text(_ text: String) -> String { self.text(text, isCut: false) }

  /// Returns text with its secrets masked.
  ///
  /// - Parameter isCut: whether the text is truncated at its end.
  package func text(_ text: String, isCut: Bool) -> String {
    // Mask by value first: a secret may contain a delimiter, which would end the search by name.
    let text = secretsMasked(in: text, isCut: isCut)
    // Work on bytes: delimiters are ASCII, but a combining mark or CR LF forms one `Character` with its neighbour.
    let bytes = Array(Self.maskingUserInformation(text, filler: filler).utf8)
    var result: [UInt8] = []
    result.reserveCapacity(bytes.count)
    var index = 0
    while index < bytes.count {
      guard SecretScanner.isWordByte(bytes[index]) else {
        result.append(bytes[index])
        index += 1
        continue
      }
      let end = bytes[index...].firstIndex { !SecretScanner.isWordByte($0) } ?? bytes.count
      let word = bytes[index..<end]
      result += word
      index = end
      var scanner = SecretScanner(bytes, after: end)
      guard let value = scanner.value(of: String(decoding: word, as: UTF8.self), isSecret: isSecret(name:inQuery:)),
        !value.isEmpty, !Self.isErrorCode(value, in: bytes, after: word)
      else { continue }
      result += bytes[end..<value.lowerBound]
      result += mask(of: value.count).utf8
      index = value.upperBound
    }
    return String(decoding: result, as: UTF8.self)
  }

  /// Returns whether a value is the number of a Foundation error, as in `Error Domain=NSCocoaErrorDomain Code=3840`. In
  /// other places, `code=` may be an OAuth authorization code.
  private static func isErrorCode(_ value: Range<Int>, in bytes: [UInt8], after name: ArraySlice<UInt8>) -> Bool {
    guard name.elementsEqual("Code".utf8) else { return false }
    // Limit the search backwards: searching from the start of the text each time would take quadratic time.
    let line = bytes[..<name.startIndex].suffix(128)
    guard let domain = line.split(separator: UInt8(ascii: " ")).last, domain.starts(with: "Domain=NS".utf8),
      line.dropLast().suffix(domain.count + 6).starts(with: "Error ".utf8)
    else { return false }
    // A blank ends the number, before the message.
    let number = bytes[value].prefix { $0 != UInt8(ascii: " ") }
    let digits = number.drop { $0 == UInt8(ascii: "-") }
    return (1...6).contains(digits.count) && digits.allSatisfy { (0x30...0x39).contains($0) }
  }

  /// Returns the text with `user:password@` masked after every `://`.
  ///
  /// - Parameter filler: the byte that replaces each byte instead of the mask. Default `nil`.
  static func maskingUserInformation(_ text: String, filler: UInt8? = nil) -> String {
    guard text.utf8.contains(UInt8(ascii: "@")) else { return text }
    var result = ""
    var rest = text[...]
    while let start = rest.firstRange(of: "://")?.upperBound {
      result += rest[..<start]
      rest = rest[start...]
      let authority = rest.prefix { !"/?#\"'<>\\".contains($0) && !$0.isWhitespace }
      if let at = authority.lastIndex(of: "@") {
        let count = authority[..<at].utf8.count
        result += filler.map { String(repeating: Character(Unicode.Scalar($0)), count: count) } ?? mask
        rest = rest[at...]
      }
    }
    return result + rest
  }

  /// Returns a URL, or its last part, in which the values of the query that must not be shown are masked.
  func maskingQueryValues(ofURL url: String) -> String {
    guard let mark = url.utf8.firstIndex(where: { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }) else {
      return url
    }
    let query = url.utf8.index(after: mark)
    let items = url.utf8[query...].split(separator: UInt8(ascii: "&"))
    return url[..<query] + items.map { shown(queryItem: Substring($0)) }.joined(separator: "&")
  }
}
