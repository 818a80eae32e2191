// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes

/// What must not be seen in logs, error texts and rendered commands, told by the names that values go by.
///
/// A name is secret when it contains one of ``words``, or is one of ``names``; case, `-` and `_` do not count. That goes
/// for header fields, query items, and the keys of JSON and form bodies alike. The values of secret names come out as
/// ``mask``; so does user information in URLs, wherever a URL stands.
///
/// It cannot see a secret in a path segment, in the bytes of a format it does not read, or behind a harmless name: name
/// those in ``RequestOptions/sensitiveHeaders`` and ``RequestOptions/sensitiveQueryItems``, or here.
public struct Redaction: Sendable, Hashable {
  /// What stands in place of a secret.
  public static let mask = "***"

  /// Parts of secret names: lower case, without `-` and `_`.
  public var words: Set<String>
  /// Whole secret names: lower case, without `-` and `_`.
  public var names: Set<String>
  /// Whole names that are secret in queries and forms only. In JSON a `code` is most often an error's.
  public var queryNames: Set<String>
  /// Header fields that are secret besides those with secret names.
  public var headers: Set<HTTPField.Name>

  /// Makes a redaction; by default the usual names.
  public init(
    words: Set<String> = [
      "token", "secret", "passw", "passphrase", "pwd", "apikey", "accesskey", "privatekey", "authorization",
      "credential", "session", "cookie", "signature", "assertion", "bearer", "jwt",
    ],
    names: Set<String> = ["key", "sig", "auth", "otp", "pin"], queryNames: Set<String> = ["code"],
    headers: Set<HTTPField.Name> = []
  ) {
    self.words = words
    self.names = names
    self.queryNames = queryNames
    self.headers = headers
  }

  /// The usual names.
  public static let standard = Redaction()

  /// Hides nothing but user information in URLs. Not for production.
  public static let off = Redaction(words: [], names: [], queryNames: [], headers: [])

  /// With what the options of a request name besides.
  public func adding(_ options: RequestOptions) -> Redaction {
    guard !options.sensitiveHeaders.isEmpty || !options.sensitiveQueryItems.isEmpty else { return self }
    var result = self
    result.headers.formUnion(options.sensitiveHeaders)
    result.names.formUnion(options.sensitiveQueryItems.map(Self.normalized))
    return result
  }

  /// Whether values of that name are secret.
  public func isSecret(name: String, inQuery: Bool = false) -> Bool {
    let name = Self.normalized(name)
    return names.contains(name) || inQuery && queryNames.contains(name) || words.contains(where: name.contains)
  }

  /// Whether the values of that header field are secret.
  public func isSecret(_ header: HTTPField.Name) -> Bool {
    headers.contains(header) || isSecret(name: header.canonicalName)
  }

  /// The value of a header field as it may be seen.
  public func value(of field: HTTPField) -> String {
    switch field.name {
    case .wwwAuthenticate, .proxyAuthenticate: field.value  // Asks for secrets, has none.
    default: isSecret(field.name) ? Self.mask : text(field.value)
    }
  }

  /// A URL as it may be seen: without user information, the values of secret items in query and fragment masked.
  public func url(_ url: String) -> String {
    let masked = Self.maskingUserInformation(url)
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

  private static func normalized(_ name: String) -> String {
    name.lowercased().filter { $0 != "-" && $0 != "_" }
  }
}
