// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
public import Lastro
internal import LastroWire

/// Verifies webhooks, the requests that another service sends to yours. Signatures are compared in constant time.
///
/// ```swift
/// let verifier = try WebhookVerifier(.standardWebhooks, secrets: [secret])
/// let id = try verifier.verify(body, headers: RawHeaders(request.headers))
/// ```
///
/// Verify the bytes of the body as they were received, before they are decoded. A message that is verified may still be
/// a repetition: within the tolerance, anyone who has seen a message can send it again, and services send a message
/// again if they got no response. Remember the identifiers of the messages that were handled, for at least the
/// tolerance.
public struct WebhookVerifier: Sendable {
  /// The form of the signature.
  public enum Scheme: Sendable, Hashable {
    /// [Standard Webhooks](https://www.standardwebhooks.com): `webhook-id`, `webhook-timestamp` and
    /// `webhook-signature`. A secret is `whsec_` and Base64, or `whpk_` and Base64 for the public Ed25519 key of a
    /// service that signs with one.
    case standardWebhooks
    /// Stripe's `Stripe-Signature`, with the time and HMAC-SHA-256. A secret is the text `whsec_…` as Stripe shows it.
    case stripe
    /// GitHub's `X-Hub-Signature-256`, HMAC-SHA-256 of the body. It has no time, so that an old message is accepted
    /// again: only the identifier, which is that of `X-GitHub-Delivery` and is not signed, tells a repetition.
    case gitHub
  }

  private static let maximumFieldBytes = 8 * 1024
  private static let maximumSignatures = 32
  /// Lower, because each of them costs a pass over the body.
  private static let maximumAsymmetricSignatures = 4

  private let scheme: Scheme
  private let tolerance: Duration
  private let time: TimeSource
  private let keys: [VerifyingKey]

  /// Makes a verifier.
  ///
  /// - Parameters:
  ///   - scheme: the form of the signature.
  ///   - secrets: the secrets that the service may sign with; at least one. While a secret is replaced, name both.
  ///   - tolerance: the greatest difference between the message's time and the clock, in both directions. Default 5
  ///     minutes, as the schemes recommend. It has no effect for ``Scheme/gitHub``.
  ///   - time: the clock. Default: the system's.
  /// - Throws: `ConfigurationError` if there is no secret, if a secret does not have the scheme's form or fewer than 16
  ///   bytes, or if the tolerance is not positive. The message does not include a secret.
  public init(
    _ scheme: Scheme, secrets: [Secret], tolerance: Duration = .seconds(300), time: TimeSource = .continuous
  ) throws(ConfigurationError) {
    guard !secrets.isEmpty else {
      throw ConfigurationError("the list of webhook secrets is empty", hint: "give the secret that the service shows")
    }
    guard tolerance > .zero else {
      throw ConfigurationError(
        "the tolerance of a webhook's time is \(tolerance.brief), and must be positive", hint: "use 5 minutes")
    }
    var keys: [VerifyingKey] = []
    for secret in secrets { keys.append(try Self.key(secret.reveal(), scheme)) }
    (self.scheme, self.tolerance, self.time, self.keys) = (scheme, tolerance, time, keys)
  }

  private static func key(_ secret: String, _ scheme: Scheme) throws(ConfigurationError) -> VerifyingKey {
    guard scheme == .standardWebhooks else { return try VerifyingKey(secret: Array(secret.utf8)) }
    let isPublic = secret.hasPrefix("whpk_")
    let prefix = isPublic ? "whpk_" : secret.hasPrefix("whsec_") ? "whsec_" : ""
    let bytes = bytes(ofBase64: secret.dropFirst(prefix.count))
    if isPublic, let key = bytes.flatMap(VerifyingKey.init(ed25519:)) { return key }
    guard let bytes, !isPublic else {
      throw ConfigurationError(
        "a secret of Standard Webhooks is not whsec_ or whpk_ and Base64", hint: "copy it as the service shows it")
    }
    return try VerifyingKey(secret: bytes)
  }

  private static func bytes(ofBase64 text: Substring) -> [UInt8]? {
    guard text.utf8.count <= maximumFieldBytes, text.utf8.count % 4 != 1 else { return nil }
    return Base64.decode(text.utf8.reversed().drop { $0 == UInt8(ascii: "=") }.reversed())
  }

  // MARK: verifying

  /// Verifies a message.
  ///
  /// - Parameters:
  ///   - body: the bytes of the body, as they were received.
  ///   - headers: the header fields of the request.
  /// - Returns: the identifier of the message, to recognize a repetition; `nil` for ``Scheme/stripe``, whose events
  ///   have theirs in the body, and for a message of GitHub without one.
  /// - Throws: ``SignatureError`` if the message is not signed with one of the secrets, or is older or newer than the
  ///   tolerance allows.
  @discardableResult
  public func verify(_ body: some ContiguousBytes, headers: RawHeaders) throws(SignatureError) -> String? {
    let signed = try signed(headers)
    if let sent = signed.sent { try checkTime(sent) }
    let message = signed.prefix + body.withUnsafeBytes { Array($0) }
    // Every signature is compared with every key, so that the time does not tell which one was close.
    var isValid = false
    for key in keys {
      let signatures = signed.signatures.filter { $0.algorithm == key.algorithm }.map(\.bytes)
      do {
        if try key.isAnySignature(of: signatures, message) { isValid = true }
      } catch {
        throw SignatureError(.unavailable, error.message, hint: error.hint)
      }
    }
    guard isValid else {
      throw SignatureError(
        .mismatch, "no signature of the webhook is that of its body with one of the secrets",
        hint: "check the secret, and pass the body's bytes as they were received")
    }
    return signed.id
  }

  private struct Signed {
    var id: String?
    /// The time of the message in seconds since 1970.
    var sent: Int64?
    /// The bytes that are signed before the body.
    var prefix: [UInt8] = []
    var signatures: [(algorithm: SignatureAlgorithm, bytes: [UInt8])] = []
  }

  private func signed(_ headers: RawHeaders) throws(SignatureError) -> Signed {
    var signed = Signed()
    switch scheme {
    case .standardWebhooks:
      let id = try field("webhook-id", of: headers)
      // A dot could be a part of the time or of the body, too.
      guard !id.contains(".") else { throw Self.unreadable }
      let time = try field("webhook-timestamp", of: headers)
      signed.id = id
      signed.sent = try seconds(time)
      signed.prefix = Array("\(id).\(time).".utf8)
      for part in try field("webhook-signature", of: headers).split(separator: " ") {
        let pair = part.split(separator: ",", maxSplits: 1, omittingEmptySubsequences: false)
        // Signatures of other versions are skipped, whatever form they have.
        guard let algorithm = Self.versions[String(pair[0])] else { continue }
        guard pair.count == 2, let bytes = Self.bytes(ofBase64: pair[1]) else { throw Self.unreadable }
        signed.signatures.append((algorithm, bytes))
      }
    case .stripe:
      for part in try field("Stripe-Signature", of: headers).split(separator: ",") {
        let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard pair.count == 2 else { continue }
        if pair[0] == "t" {
          guard signed.sent == nil else { throw Self.unreadable }
          signed.sent = try seconds(String(pair[1]))
          signed.prefix = Array("\(pair[1]).".utf8)
        }
        if pair[0] == "v1" { signed.signatures.append((.hmacSHA256, try bytes(ofHexadecimal: pair[1]))) }
      }
      guard signed.sent != nil else { throw Self.unreadable }
    case .gitHub:
      let value = try field("X-Hub-Signature-256", of: headers)
      guard value.hasPrefix("sha256=") else { throw Self.unreadable }
      signed.id = headers["X-GitHub-Delivery"]
      signed.signatures = [(.hmacSHA256, try bytes(ofHexadecimal: value.dropFirst("sha256=".count)))]
    }
    guard !signed.signatures.isEmpty else {
      throw SignatureError(.unsupported, "the webhook has no signature of a known version")
    }
    guard signed.signatures.count <= Self.maximumSignatures,
      signed.signatures.count(where: { $0.algorithm == .ed25519 }) <= Self.maximumAsymmetricSignatures
    else { throw Self.unreadable }
    return signed
  }

  private static let versions: [String: SignatureAlgorithm] = ["v1": .hmacSHA256, "v1a": .ed25519]

  private func field(_ name: String, of headers: RawHeaders) throws(SignatureError) -> String {
    let values = headers.fields.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
    guard let value = values.first, !value.isEmpty else {
      throw SignatureError(
        .missing, "the webhook has no \(name)", hint: "check that the service signs, and that no proxy drops the field")
    }
    guard values.count == 1, value.utf8.count <= Self.maximumFieldBytes else { throw Self.unreadable }
    return value
  }

  private func seconds(_ text: String) throws(SignatureError) -> Int64 {
    // Digits alone: another spelling of the time would be signed, too, and accepted.
    guard (1...12).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
      let seconds = Int64(text)
    else { throw Self.unreadable }
    return seconds
  }

  private func bytes(ofHexadecimal text: Substring) throws(SignatureError) -> [UInt8] {
    let digits = text.utf8.map(\.hexadecimalValue)
    guard digits.count == 64, !digits.contains(nil) else { throw Self.unreadable }
    return stride(from: 0, to: digits.count, by: 2).map { (digits[$0] ?? 0) << 4 | (digits[$0 + 1] ?? 0) }
  }

  private func checkTime(_ sent: Int64) throws(SignatureError) {
    let age = time.sinceEpoch() - .seconds(sent)
    guard age <= tolerance, age >= .zero - tolerance else {
      throw SignatureError(
        .expired, "the webhook's time is more than \(tolerance.brief) \(age > .zero ? "ago" : "in the future")",
        hint: "it may be a repetition; otherwise check the clock of this machine")
    }
  }

  private static let unreadable = SignatureError(
    .malformed, "the signature of the webhook cannot be read", hint: "check that the scheme is that of the service")
}
