// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import LastroWire

/// The way in which a header field with a credential identifies the sender of its request.
enum CredentialSender: Equatable {
  /// The value, which is the same in every request, identifies the sender.
  case value
  /// A user name or key id identifies the sender; the rest of the value changes with each request.
  case named(String)
  /// The field does not identify the sender: it proves a fact about a session or token in another field.
  case companion
  /// The field does not identify the sender, although its value changes with each request.
  case unknown

  init(of field: HTTPField, in fields: HTTPFields) {
    let name = field.name.canonicalName
    let words = name.split { $0 == "-" || $0 == "_" }
    switch name {
    case "authorization", "proxy-authorization", "authentication", "x-authentication":
      self = Self.of(authorization: field.value)
    case "dpop": self = fields.contains { $0.name == .authorization } ? .companion : .unknown
    case "signature", "signature-input": self = Self.ofSignature(field, in: fields)
    case _ where name.contains("csrf") || name.contains("xsrf"): self = .companion
    case _ where !Self.companionWords.isDisjoint(with: words): self = .companion
    case _ where name.contains("signature") || !Self.signatureWords.isDisjoint(with: words): self = .unknown
    default: self = .value
    }
  }

  /// Words in the names of fields that accompany a signature or a login: times, hashes of the body, one-time codes.
  private static let companionWords: Set<Substring> = [
    "date", "digest", "expires", "md5", "nonce", "otp", "sha256", "time", "timestamp", "totp",
  ]
  private static let signatureWords: Set<Substring> = ["hmac", "mac", "sig", "sign", "signed"]

  /// Schemes whose value is always the same in every request.
  private static let stableSchemes: Set = ["basic", "bearer", "dpop"]
  /// Schemes whose value changes with every request or connection and cannot be parsed.
  private static let opaqueSchemes: Set = ["hoba", "kerberos", "mutual", "negotiate", "ntlm", "privatetoken"]
  /// Schemes of the form `KEY:SIGNATURE` whose names do not indicate that they sign.
  private static let signingSchemes: Set = [
    "acs", "aws", "cos", "nos", "obs", "oss", "qbox", "qiniu", "sharedkey", "sharedkeylite",
  ]
  /// Parameters that change with every request.
  private static let changing: Set = [
    "cnonce", "mac", "nonce", "oauth_nonce", "oauth_signature", "oauth_timestamp", "p", "proof", "response", "sig",
    "signature", "timestamp", "ts",
  ]
  /// Parameters that identify the user or the key.
  private static let naming: Set = [
    "access_key", "access_key_id", "accesskey", "accesskeyid", "api_key", "apikey", "client_id", "client_token",
    "credential", "id", "k", "key_id", "keyid", "kid", "oauth_consumer_key", "username", "username*",
  ]
  /// Parameters that make such an identification more specific.
  private static let narrowing: Set = ["access_token", "app", "oauth_token", "realm"]

  private static func of(authorization value: String) -> Self {
    let word = value.prefix { $0 != " " }
    let scheme = word.lowercased()
    let rest = value[word.endIndex...].drop { $0 == " " }
    if stableSchemes.contains(scheme) || rest.isEmpty { return .value }
    if opaqueSchemes.contains(scheme) || scheme.hasPrefix("scram") { return .unknown }
    let parameters = CredentialParameters(rest)
    if parameters.names.contains(where: changing.contains) { return named(by: parameters, scheme) }
    let signs = signingSchemes.contains(scheme) || ["hmac", "sig", "ecdsa", "rsa"].contains { scheme.contains($0) }
    guard signs else { return .value }
    let key = rest.prefix { $0 != ":" }
    return key.isEmpty || key.endIndex == rest.endIndex ? .unknown : .named("\(scheme) \(key)")
  }

  /// Returns the sender as identified by its parameters. Duplicate parameters are ambiguous, so such a field does not
  /// identify the sender.
  private static func named(by parameters: CredentialParameters, _ scheme: String) -> Self {
    guard !parameters.hasDuplicates else { return .unknown }
    let names = parameters.names.filter(naming.contains)
    guard !names.isEmpty else { return .unknown }
    let texts = (names + parameters.names.filter(narrowing.contains)).sorted().map { name in
      let value = parameters[name] ?? ""
      // The key id comes before the day, the region and the service.
      let text = name == "credential" ? String(value.prefix { $0 != "/" }) : value
      return "\(name)=\(text.utf8.count) \(text)"
    }
    return .named("\(scheme) \(texts.joined(separator: " "))")
  }

  /// Returns the sender of a signature. RFC 9421 has key ids in `Signature-Input`; earlier drafts have a key id in
  /// `Signature`.
  private static func ofSignature(_ field: HTTPField, in fields: HTTPFields) -> Self {
    let inputs = fields.filter { $0.name.canonicalName == "signature-input" }
    guard inputs.isEmpty else {
      let text = inputs.map(\.value).joined(separator: ", ")
      guard let signatures = StructuredReader.dictionary(text.utf8), !signatures.names.isEmpty,
        // A repeated label or parameter replaces the earlier one, but another reader may use the earlier one.
        text.ranges(of: "keyid=").count == signatures.names.count
      else { return .unknown }
      var ids: [String] = []
      for name in signatures.names {
        guard case .string(let id)? = signatures[name]?.parameters["keyid"] else { return .unknown }
        ids.append("\(id.utf8.count) \(id)")
      }
      return .named(ids.sorted().joined(separator: " "))
    }
    return named(by: CredentialParameters(field.value[...]), "signature")
  }
}

/// The parameters of an `Authorization` field. Schemes separate them by commas, semicolons or ampersands.
struct CredentialParameters {
  /// The names of the parameters, in lower case and in order.
  private(set) var names: [String] = []
  private var values: [String: String] = [:]

  /// Whether a name is repeated, so that two readers might use different values.
  var hasDuplicates: Bool { values.count != names.count }

  subscript(name: String) -> String? { values[name] }

  init(_ text: Substring) {
    var rest = text.utf8
    while !rest.isEmpty {
      let name = rest.prefix { !Self.separators.contains($0) && $0 != UInt8(ascii: "=") }
      rest = rest[name.endIndex...]
      guard rest.first == UInt8(ascii: "=") else {
        rest = rest.dropFirst()
        continue
      }
      rest = rest.dropFirst()
      let value = Self.value(&rest)
      let key = String(Substring(name)).lowercased().filter { $0 != " " && $0 != "\t" }
      names.append(key)
      values[key] = value
    }
  }

  private static let separators: Set<UInt8> = [UInt8(ascii: ","), UInt8(ascii: ";"), UInt8(ascii: "&")]

  /// Reads a value without its quotes. Text between the closing quote and the separator is added to the value.
  private static func value(_ rest: inout Substring.UTF8View) -> String {
    var bytes: [UInt8] = []
    if rest.first == UInt8(ascii: "\"") {
      rest = rest.dropFirst()
      while let byte = rest.popFirst(), byte != UInt8(ascii: "\"") {
        bytes.append(byte == UInt8(ascii: "\\") ? rest.popFirst() ?? byte : byte)
      }
    }
    let plain = rest.prefix { !separators.contains($0) }
    rest = rest[plain.endIndex...]
    return String(decoding: bytes + plain.filter { $0 != 0x20 && $0 != 0x09 }, as: UTF8.self)
  }
}
