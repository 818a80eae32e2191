// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
import HTTPTypes
public import Lastro
internal import LastroWire

/// Verifies the HTTP message signatures of responses (RFC 9421), with the digest of their content (RFC 9530).
///
/// ```swift
/// let verifier = try MessageVerifier(keys: ["bank-2026": key])
/// let payments = ModelDecoding<[Payment], Data, ResourceResponse>.json().verified(by: verifier)
/// ```
///
/// A response is accepted if one of its signatures is made with a known key, covers what it has to cover, and is not
/// too old. A digest that a signature covers is compared with the body. A response without content (to HEAD, or with a
/// signed status of 204, 205 or 304) needs no digest. Components with the parameters `sf` and `tr` are not supported.
public struct MessageVerifier: Sendable {
  private static let maximumFieldBytes = 16 * 1024
  private static let maximumSignatures = 8
  private static let maximumComponents = 64
  /// The greatest lead of the signer's clock.
  private static let lead = Duration.seconds(60)

  private let keys: [String: VerifyingKey]
  private let required: [SignatureComponent]
  private let maximumAge: Duration
  private let tag: String?
  private let time: TimeSource

  /// Makes a verifier.
  ///
  /// - Parameters:
  ///   - keys: the keys by their identifiers; at least one.
  ///   - required: the components that a signature has to cover. Default: the status and the digest of the content.
  ///   - maximumAge: the greatest age of a signature by its `created`, which it has to have. Default 5 minutes.
  ///   - tag: the `tag` that a signature has to have. Default `nil`: any or none.
  ///   - time: the clock. Default: the system's.
  /// - Throws: `ConfigurationError` if there is no key, or the age is not positive.
  public init(
    keys: [String: VerifyingKey], requiring required: [SignatureComponent] = [.status, .contentDigest],
    maximumAge: Duration = .seconds(300), tag: String? = nil, time: TimeSource = .continuous
  ) throws(ConfigurationError) {
    guard !keys.isEmpty else {
      throw ConfigurationError(
        "the verifier has no keys", hint: "give the keys that the server signs with, by their ids")
    }
    guard maximumAge > .zero else {
      throw ConfigurationError(
        "the maximum age of a signature is \(maximumAge.brief), and must be positive", hint: "use 5 minutes")
    }
    (self.keys, self.required, self.maximumAge, self.tag, self.time) = (keys, required, maximumAge, tag, time)
  }

  /// Verifies a response.
  ///
  /// - Parameters:
  ///   - response: the response.
  ///   - body: the complete body.
  ///   - request: the request, as it was sent, for signatures that cover parts of it. Default `nil`: the one that the
  ///     stack sent; if the response comes from elsewhere, such a signature is refused.
  /// - Returns: the identifier of the key whose signature was accepted.
  /// - Throws: ``SignatureError`` if no signature is accepted; with several, the reason is that of the first.
  @discardableResult
  public func verify(
    _ response: ResourceResponse, body: Data, request: ResourceRequest? = nil
  ) throws(SignatureError) -> String {
    let request = request ?? response.request
    var head = request?.head
    if let host = request?.options.hostField { head?.authority = host }
    return try verify(SignatureBase(request: head, response: response.head), body: body)
  }

  func verify(_ message: SignatureBase, body: Data) throws(SignatureError) -> String {
    let fields = message.response?.headerFields ?? message.request?.headerFields ?? [:]
    let inputs = try dictionary("Signature-Input", of: fields)
    let signatures = try dictionary("Signature", of: fields)
    guard inputs.names.count <= Self.maximumSignatures else {
      throw SignatureError(.malformed, "the message has more than \(Self.maximumSignatures) signatures")
    }
    var first: SignatureError?
    for label in inputs.names {
      do throws(SignatureError) {
        guard let input = inputs[label], case .bytes(let signature)? = signatures[label]?.value else {
          throw Self.unreadable
        }
        return try check(input, signature, message, body: body)
      } catch {
        // A signature with a known key tells more than one with another.
        if first == nil || first?.code == .unknownKey { first = error }
      }
    }
    throw first ?? Self.absent
  }

  private func check(
    _ input: StructuredMember, _ signature: [UInt8], _ message: SignatureBase, body: Data
  ) throws(SignatureError) -> String {
    guard case .list(let items) = input.content, items.count <= Self.maximumComponents else { throw Self.unreadable }
    let components = items.compactMap(SignatureComponent.init)
    let covered = Set(components.map(\.sorted))
    guard components.count == items.count, covered.count == items.count else { throw Self.unreadable }
    guard case .string(let keyID)? = input.parameters["keyid"], let key = keys[keyID] else {
      throw SignatureError(
        .unknownKey, "the signature is made with a key that is not known", hint: "add the server's current key")
    }
    if let tag, input.parameters["tag"] != .string(tag) {
      throw SignatureError(.unsupported, "the signature does not have the tag \(tag)")
    }
    if let named = input.parameters["alg"], named != key.algorithm.messageName.map(StructuredValue.string) {
      throw SignatureError(.unsupported, "the signature names another algorithm than that of its key")
    }
    try checkTimes(input.parameters)
    let hasContent = !message.isWithoutContent(covering: covered) || !body.isEmpty
    for component in required where !covered.contains(component.sorted) {
      if component == .contentDigest, !hasContent { continue }
      throw SignatureError(.uncovered, "the signature does not cover \(component)")
    }
    let base = try message.bytes(components, input: StructuredWriter.text(input))
    let isValid: Bool
    do { isValid = try key.isSignature(signature, of: base) } catch {
      throw SignatureError(.unavailable, error.message, hint: error.hint)
    }
    guard isValid else {
      throw SignatureError(
        .mismatch, "the signature is not that of the message", hint: "a proxy may have changed a field that it covers")
    }
    let digests = components.filter { $0.name == SignatureComponent.contentDigest.name && $0["req"] == nil }
    if !digests.isEmpty, hasContent {
      try checkDigest(of: body, digests, (message.response?.headerFields ?? message.request?.headerFields) ?? [:])
    }
    return keyID
  }

  private func checkTimes(_ parameters: StructuredParameters) throws(SignatureError) {
    let now = time.sinceEpoch()
    guard case .integer(let created)? = parameters["created"] else {
      throw SignatureError(.missing, "the signature has no time of its creation")
    }
    guard .seconds(created) <= now + Self.lead else {
      throw SignatureError(.expired, "the signature was made in the future", hint: "check the clock of this machine")
    }
    guard now - .seconds(created) <= maximumAge else {
      throw SignatureError(.expired, "the signature is older than \(maximumAge.brief)")
    }
    guard let value = parameters["expires"] else { return }
    guard case .integer(let expires) = value, .seconds(expires) >= now else {
      throw SignatureError(.expired, "the signature has expired")
    }
  }

  /// Compares the digests that are covered: the whole field, or the members that the components name.
  private func checkDigest(
    of body: Data, _ components: [SignatureComponent], _ fields: HTTPFields
  ) throws(SignatureError) {
    let digests = try dictionary("Content-Digest", of: fields)
    let isWhole = components.contains { $0["key"] == nil }
    var isCompared = false
    for (name, algorithm) in [("sha-256", HashAlgorithm.sha256), ("sha-512", .sha512)] {
      guard isWhole || components.contains(where: { $0["key"] == .string(name) }), let digest = digests[name] else {
        continue
      }
      let own: MessageDigest
      do { own = try MessageDigest(of: body, algorithm) } catch {
        throw SignatureError(.unavailable, "\(error)")
      }
      guard case .bytes(let bytes)? = digest.value, MessageDigest(bytes) == own else {
        let isEncoded = fields[.contentEncoding] != nil
        throw SignatureError(
          .mismatch, "the body is not the one whose digest was signed",
          hint: isEncoded
            ? "the digest is that of the encoded content: ask for it with Accept-Encoding: identity" : nil)
      }
      isCompared = true
    }
    guard isCompared else {
      throw SignatureError(.unsupported, "the content's digest is neither SHA-256 nor SHA-512")
    }
  }

  private func dictionary(_ name: String, of fields: HTTPFields) throws(SignatureError) -> StructuredDictionary {
    let values = HTTPField.Name(name).map { name in fields[fields: name].map(\.value) } ?? []
    guard !values.isEmpty else { throw name == "Content-Digest" ? Self.unreadable : Self.absent }
    let text = values.joined(separator: ", ")
    guard text.utf8.count <= Self.maximumFieldBytes, let read = StructuredReader.dictionary(text.utf8) else {
      throw Self.unreadable
    }
    return read
  }

  private static let absent = SignatureError(
    .missing, "the message is not signed", hint: "check that the server signs its responses")
  private static let unreadable = SignatureError(.malformed, "the signature's fields cannot be read")
}

extension SignatureBase {
  /// Whether the response has no content by its request or by its status, which a signature has to cover to count.
  fileprivate func isWithoutContent(covering covered: Set<SignatureComponent>) -> Bool {
    guard let response else { return false }
    return request?.method == .head || [204, 205, 304].contains(response.status.code) && covered.contains(.status)
  }
}

extension ModelDecoding where Payload == Data, Metadata == ResourceResponse {
  /// Returns a decoding that verifies the signature of the response before it decodes the payload. A response that is
  /// not accepted fails with the stage `decode`, and its ``SignatureError`` is the `underlying` error. It is not decoded
  /// as an error of the API.
  public func verified(by verifier: MessageVerifier) -> Self {
    Self { payload, response in
      try verifier.verify(response, body: payload)
      return try decode(payload, response)
    }
  }
}

extension ErrorDecoding where Payload == Data, Metadata == ResourceResponse {
  /// Returns a decoding that verifies the signature of a response outside 200–299 before it decodes the payload. If the
  /// response is not accepted, there is no API error, and the ``SignatureError`` is in `apiErrorDecodingFailure`.
  public func verified(by verifier: MessageVerifier) -> Self {
    Self { payload, response in
      try verifier.verify(response, body: payload ?? Data())
      return try decode(payload, response)
    }
  }
}
