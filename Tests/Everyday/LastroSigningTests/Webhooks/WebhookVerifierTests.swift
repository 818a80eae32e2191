// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@testable import Lastro
@testable import LastroSigning

@Suite("Webhooks")
struct WebhookVerifierTests {
  private static let now: Int64 = 1_614_265_330
  private static let standardSecret: Secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
  private static let standardBody = Data(#"{"test": 2432232314}"#.utf8)
  private static let standardHeaders: RawHeaders = [
    "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek", "webhook-timestamp": "1614265330",
    "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
  ]
  private static let gitHubSecret: Secret = "It's a Secret to Everybody"
  private static let gitHubHeaders: RawHeaders = [
    "X-Hub-Signature-256": "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17",
    "X-GitHub-Delivery": "d-1",
  ]
  private static let stripeSecret: Secret = "whsec_test_secret_of_stripe"

  /// Returns a field as Stripe describes it: `t=TIME,v1=HMAC of "TIME.BODY"`.
  private static func stripe(_ time: String, _ body: Data, secret: Secret = stripeSecret) throws -> RawHeaders {
    let signed = Data("\(time).".utf8) + body
    return ["Stripe-Signature": "t=\(time),v1=\(try MessageDigest.hmacSHA256(of: signed, key: secret)),v0=abc"]
  }

  private static func verifier(
    _ scheme: WebhookVerifier.Scheme, _ secrets: Secret..., at time: Int64 = now
  ) throws -> WebhookVerifier {
    try WebhookVerifier(scheme, secrets: secrets, time: .at(time))
  }

  private static func code(_ verifier: WebhookVerifier, _ body: Data, _ headers: RawHeaders) -> SignatureError.Code? {
    do throws(SignatureError) {
      try verifier.verify(body, headers: headers)
      return nil
    } catch {
      return error.code
    }
  }

  @Test("The examples of Standard Webhooks and of GitHub are accepted, with their identifiers")
  func examples() throws {
    let standard = try Self.verifier(.standardWebhooks, Self.standardSecret)
    #expect(try standard.verify(Self.standardBody, headers: Self.standardHeaders) == "msg_p5jXN8AQM9LWM0D4loKWxJek")
    let gitHub = try Self.verifier(.gitHub, Self.gitHubSecret)
    #expect(try gitHub.verify(Data("Hello, World!".utf8), headers: Self.gitHubHeaders) == "d-1")
  }

  @Test("A message of Stripe is accepted, and the secret is its whole text")
  func stripe() throws {
    let body = Data("{}".utf8)
    let verifier = try Self.verifier(.stripe, Self.stripeSecret)
    #expect(Self.code(verifier, body, try Self.stripe("\(Self.now)", body)) == nil)
    #expect(Self.code(verifier, body, try Self.stripe("\(Self.now)", body, secret: "another secret here")) == .mismatch)
  }

  @Test("A changed body, identifier, time or signature is refused")
  func changes() throws {
    let standard = try Self.verifier(.standardWebhooks, Self.standardSecret)
    #expect(Self.code(standard, Data(), Self.standardHeaders) == .mismatch)
    for (name, value) in [
      ("webhook-id", "msg_2"), ("webhook-timestamp", "1614265331"),
      ("webhook-signature", "v1,h0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="),
      ("webhook-signature", "v1,AAAA"),
    ] {
      var headers = Self.standardHeaders
      headers[RawHeaders.Name(name)] = value
      #expect(Self.code(standard, Self.standardBody, headers) == .mismatch)
    }
  }

  @Test("One signature of several, by one secret of several, is enough")
  func rotation() throws {
    let verifier = try Self.verifier(.standardWebhooks, "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", Self.standardSecret)
    var headers = Self.standardHeaders
    headers["webhook-signature"] = "v1,AAAA v1a,AAAA v9,AAAA v9,? v2 \(headers["webhook-signature"] ?? "")"
    #expect(Self.code(verifier, Self.standardBody, headers) == nil)
  }

  @Test("Parts of Stripe's field without a value, and of other versions, are skipped")
  func unknownParts() throws {
    let body = Data("{}".utf8)
    var headers = try Self.stripe("\(Self.now)", body)
    headers["Stripe-Signature"] = "new,v2=?,\(headers["Stripe-Signature"] ?? ""),=,"
    #expect(Self.code(try Self.verifier(.stripe, Self.stripeSecret), body, headers) == nil)
  }

  @Test("As many signatures as are allowed are read, and the last one is enough")
  func limits() throws {
    let verifier = try Self.verifier(.standardWebhooks, Self.standardSecret)
    for (part, count, code) in [
      ("v1,AAAA ", 31, nil), ("v1,AAAA ", 32, .malformed), ("v1a,AAAA ", 4, nil), ("v1a,AAAA ", 5, .malformed),
    ] as [(String, Int, SignatureError.Code?)] {
      var headers = Self.standardHeaders
      headers["webhook-signature"] = String(repeating: part, count: count) + (headers["webhook-signature"] ?? "")
      #expect(Self.code(verifier, Self.standardBody, headers) == code)
    }
    // A field of 8 KiB is read, and one byte more is not.
    for (count, code) in [(8 * 1024, nil), (8 * 1024 + 1, .malformed)] as [(Int, SignatureError.Code?)] {
      var headers = Self.standardHeaders
      let value = " " + (headers["webhook-signature"] ?? "")
      headers["webhook-signature"] = String(repeating: "a", count: count - value.utf8.count) + value
      #expect(Self.code(verifier, Self.standardBody, headers) == code)
    }
  }

  @Test("A message signed with an Ed25519 key is accepted by its public key alone")
  func asymmetric() throws {
    let key = try SigningKey(pem: Secret(RFC9421.ed25519Private))
    let signed = Array("msg_1.\(Self.now).".utf8) + Array(Self.standardBody)
    let headers: RawHeaders = [
      "webhook-id": "msg_1", "webhook-timestamp": "\(Self.now)",
      "webhook-signature": "v1a,\(Data(try key.signature(of: signed)).base64EncodedString())",
    ]
    let verifier = try Self.verifier(.standardWebhooks, "whpk_JrQLj5P/89iXES9+vFgrIy29clF9CC/oPPsw3c5D0bs=")
    #expect(Self.code(verifier, Self.standardBody, headers) == nil)
    #expect(Self.code(verifier, Data(), headers) == .mismatch)
    #expect(
      Self.code(try Self.verifier(.standardWebhooks, Self.standardSecret), Self.standardBody, headers) == .mismatch)
  }

  @Test(
    "A message is accepted within the tolerance alone",
    arguments: [(0, true), (300, true), (301, false), (-300, true), (-301, false)] as [(Int64, Bool)])
  func time(age: Int64, isAccepted: Bool) throws {
    let body = Data("{}".utf8)
    let standard = try Self.verifier(.standardWebhooks, Self.standardSecret, at: Self.now + age)
    let stripe = try Self.verifier(.stripe, Self.stripeSecret, at: Self.now + age)
    let expected: SignatureError.Code? = isAccepted ? nil : .expired
    #expect(Self.code(standard, Self.standardBody, Self.standardHeaders) == expected)
    #expect(Self.code(stripe, body, try Self.stripe("\(Self.now)", body)) == expected)
  }

  @Test(
    "Fields that cannot be read end in an error",
    arguments: [
      (.standardWebhooks, ["webhook-id": "m", "webhook-timestamp": "1614265330"], .missing),
      (
        .standardWebhooks, ["webhook-id": "m", "webhook-timestamp": "+1614265330", "webhook-signature": "v1,AAAA"],
        .malformed
      ),
      (.standardWebhooks, ["webhook-id": "m", "webhook-timestamp": "1e9", "webhook-signature": "v1,AAAA"], .malformed),
      (
        .standardWebhooks, ["webhook-id": "m", "webhook-timestamp": "1614265330", "webhook-signature": "v1"], .malformed
      ),
      (
        .standardWebhooks, ["webhook-id": "m", "webhook-timestamp": "1614265330", "webhook-signature": "v1,?"],
        .malformed
      ),
      (
        .standardWebhooks, ["webhook-id": "m", "webhook-timestamp": "1614265330", "webhook-signature": "v2,AAAA"],
        .unsupported
      ),
      (
        .standardWebhooks, ["webhook-id": "m.1", "webhook-timestamp": "1614265330", "webhook-signature": "v1,AAAA"],
        .malformed
      ),
      (.stripe, [:], .missing), (.stripe, ["Stripe-Signature": "v1=00"], .malformed),
      (.stripe, ["Stripe-Signature": "t=1614265330"], .unsupported),
      (.stripe, ["Stripe-Signature": "t=1614265330,t=1614265330,v1=00"], .malformed),
      (.stripe, ["Stripe-Signature": "t=1614265330,nothing"], .unsupported),
      (.stripe, ["Stripe-Signature": "a", "stripe-signature": "b"], .malformed),
      (.gitHub, ["X-Hub-Signature-256": "sha1=00"], .malformed),
      (.gitHub, ["X-Hub-Signature-256": "sha256=0"], .malformed),
      (.gitHub, ["X-Hub-Signature-256": "sha256=\(String(repeating: "zz", count: 32))"], .malformed),
    ] as [(WebhookVerifier.Scheme, RawHeaders, SignatureError.Code)])
  func hostile(scheme: WebhookVerifier.Scheme, headers: RawHeaders, code: SignatureError.Code) throws {
    let secret = scheme == .standardWebhooks ? Self.standardSecret : Self.stripeSecret
    #expect(Self.code(try Self.verifier(scheme, secret), Self.standardBody, headers) == code)
  }

  @Test("Invalid settings are refused with a hint, and no secret is repeated")
  func settings() throws {
    for (scheme, secret) in [
      (.standardWebhooks, "whsec_hidden?"), (.standardWebhooks, "whpk_aGlkZGVu"), (.standardWebhooks, "whsec_aGlkZGVu"),
      (.gitHub, "hidden"), (.stripe, ""),
    ] as [(WebhookVerifier.Scheme, Secret)] {
      let error = #expect(throws: ConfigurationError.self) { try WebhookVerifier(scheme, secrets: [secret]) }
      #expect(error?.hint != nil && error.map { !"\($0)".contains("hidden") } == true)
    }
    #expect(throws: ConfigurationError.self) { try WebhookVerifier(.gitHub, secrets: []) }
    #expect(throws: ConfigurationError.self) {
      try WebhookVerifier(.gitHub, secrets: [Self.gitHubSecret], tolerance: .zero)
    }
  }
}
