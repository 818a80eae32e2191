// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
public import Lastro
internal import LastroWire

/// Signs requests with HTTP message signatures (RFC 9421).
///
/// ```swift
/// let signer = try MessageSigner(key, keyID: "shop-2026", origins: [origin], tag: "payments")
/// configuration.signers = [signer]
/// ```
///
/// The signature covers the listed components, in their order. If ``SignatureComponent/contentDigest`` is one of them,
/// the signer adds a `Content-Digest` of the body (RFC 9530), and leaves the component out for a request without one.
/// Every attempt gets a new signature, with the time at which it is sent and a new nonce.
public struct MessageSigner: RequestSigner, StandardSigner {
  /// The origins whose requests are signed.
  public let origins: [Origin]
  private let key: SigningKey
  private let keyID: String
  private let components: [SignatureComponent]
  private let label: String
  private let lifetime: Duration?
  private let tag: String?
  private let hasNonce: Bool
  private let time: TimeSource

  /// Makes a signer.
  ///
  /// - Parameters:
  ///   - key: the key, of any algorithm but ``SignatureAlgorithm/rsaPSS256``.
  ///   - keyID: the identifier under which the server knows the key, sent as `keyid`: ASCII without control characters.
  ///   - components: the covered components, each at most once. Default: the method, the whole URL and the digest of
  ///     the content.
  ///   - origins: the origins whose requests are signed; at least one.
  ///   - label: the label of the signature: lower-case letters, digits, `_`, `-`, `.` and `*`. Default `sig1`.
  ///     Give each signer of a stack its own: a signer replaces an earlier signature with its label.
  ///   - lifetime: the time until `expires`, in whole seconds: 1 second to 365 days. Default `nil`: the server decides by
  ///     `created`.
  ///   - tag: the application's `tag`. Default none.
  ///   - hasNonce: whether a random `nonce` is added, by which a server recognizes a repetition. Default true.
  ///   - time: the clock. Default: the system's.
  /// - Throws: `ConfigurationError` if one of these requirements is violated.
  public init(
    _ key: SigningKey, keyID: String,
    covering components: [SignatureComponent] = [.method, .targetURI, .contentDigest], origins: [Origin],
    label: String = "sig1", lifetime: Duration? = nil, tag: String? = nil, hasNonce: Bool = true,
    time: TimeSource = .continuous
  ) throws(ConfigurationError) {
    guard !origins.isEmpty else {
      throw ConfigurationError(
        "the list of origins whose requests are signed is empty", hint: "name at least one, such as https://api.example"
      )
    }
    guard key.algorithm.messageName != nil else {
      throw ConfigurationError(
        "HTTP message signatures have no name for \(key.algorithm.tokenName)", hint: "sign with SHA-512")
    }
    for text in [keyID, tag ?? ""] where !text.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) {
      throw ConfigurationError(
        "the key id or the tag of a signature has a character that is not printable ASCII", hint: "leave it out")
    }
    guard case .item(.boolean(true))? = StructuredReader.dictionary(label.utf8)?[label]?.content else {
      throw ConfigurationError(
        "\"\(label.prefix(40).escapedForDisplay)\" cannot be the label of a signature",
        hint: "begin it with a lower-case letter, and use letters, digits, _, -, . and *")
    }
    if let lifetime, lifetime < .seconds(1) || lifetime > .seconds(365 * 86_400) {
      throw ConfigurationError(
        "the lifetime of a signature is \(lifetime.brief), outside the range from 1 s to 365 days",
        hint: "use some minutes")
    }
    guard Set(components.map(\.sorted)).count == components.count else {
      throw ConfigurationError("a component of a signature is listed twice", hint: "list each component once")
    }
    for component in components where !Self.isOfRequests(component) {
      throw ConfigurationError(
        "the component \(component) cannot be signed in a request",
        hint: "list header fields, and components of requests such as @method; the engine sets some fields later")
    }
    (self.key, self.keyID, self.components, self.origins) = (key, keyID, components, origins)
    (self.label, self.lifetime, self.tag, self.hasNonce, self.time) = (label, lifetime, tag, hasNonce, time)
  }

  private static let derived: Set<String> = [
    "@method", "@target-uri", "@authority", "@scheme", "@request-target", "@path", "@query", "@query-param",
  ]
  private static let laterFields: Set<String> = [
    "connection", "content-length", "cookie", "signature", "signature-input", "te", "transfer-encoding",
  ]

  private static func isOfRequests(_ component: SignatureComponent) -> Bool {
    guard component["req"] == nil else { return false }
    if component.name == "@query-param" { return component["name"] != nil }
    if component.name.hasPrefix("@") { return derived.contains(component.name) }
    return HTTPField.Name(component.name) != nil && !laterFields.contains(component.name)
  }

  package var signature: String { "MessageSigner, with \(key.algorithm.tokenName) as \(keyID)" }
  package var usesBodyDigest: Bool { components.contains(.contentDigest) }

  /// Signs a request.
  ///
  /// - Throws: ``SignatureError`` if the request lacks a component; an error with code `invalid_body` if the content's
  ///   digest is covered and the body can be read only once; `ConfigurationError` if OpenSSL does not have the algorithm.
  public func sign(
    _ request: ResourceRequest, bodyDigest: MessageDigest?, context: AttemptContext
  ) async throws -> ResourceRequest {
    var request = request
    var components = components
    if components.contains(.contentDigest) {
      if request.body.isEmpty {
        components.removeAll { $0 == .contentDigest }
      } else {
        guard let bodyDigest else {
          throw TransportError.refused(
            .invalidBody, "the body can be read only once, so its digest cannot be signed before it is sent",
            hint: "use a replayable body, or do not cover content-digest")
        }
        try request.setHeader("Content-Digest", "sha-256=:\(bodyDigest.base64):")
      }
    }
    let input = "(" + components.map(\.description).joined(separator: " ") + ")" + parameters
    var head = request.head
    if let host = request.options.hostField { head.authority = host }
    let base = try SignatureBase(request: head).bytes(components, input: input)
    let signature = StructuredWriter.text(.bytes(try key.signature(of: base)))
    try set("Signature-Input", input, in: &request)
    try set("Signature", signature, in: &request)
    return request
  }

  private var parameters: String {
    let created = time.sinceEpoch().components.seconds
    var values: [(String, StructuredValue)] = [("created", .integer(created))]
    if let lifetime { values.append(("expires", .integer(created + lifetime.components.seconds))) }
    if !keyID.isEmpty { values.append(("keyid", .string(keyID))) }
    if hasNonce { values.append(("nonce", .string(RandomText.make()))) }
    if let tag { values.append(("tag", .string(tag))) }
    return values.map { StructuredWriter.text($0, $1) }.joined()
  }

  /// Sets the signer's member of a field, and keeps those of other signers.
  private func set(_ name: String, _ value: String, in request: inout ResourceRequest) throws {
    let earlier = RawHeaders(request.head.headerFields).fields.filter { $0.name.lowercased() == name.lowercased() }
    let others =
      StructuredReader.dictionary(earlier.map(\.value).joined(separator: ", ").utf8)
      .map { StructuredWriter.text($0, without: label) } ?? ""
    try request.setHeader(name, (others.isEmpty ? "" : others + ", ") + label + "=" + value)
  }
}
