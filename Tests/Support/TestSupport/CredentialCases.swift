// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
package import HTTPTypes
import Testing

/// Header fields that carry a credential, with the values that each user sends.
package struct CredentialCase: Sendable, CustomTestStringConvertible {
  /// The way in which the values identify the sender to a cache.
  package enum Kind: Sendable, Hashable {
    /// The values stay the same from one request to the next.
    case stable
    /// The values change, and contain the user or the key.
    case keyed
    /// The values change, and do not identify the sender.
    case opaque
  }

  package let name: String
  package let kind: Kind
  private let value: @Sendable (_ user: String, _ number: Int) -> String
  private let others: @Sendable (_ user: String, _ number: Int) -> [(String, String)]

  private init(
    _ name: String, _ kind: Kind,
    with others: @escaping @Sendable (String, Int) -> [(String, String)] = { _, _ in [] },
    _ value: @escaping @Sendable (String, Int) -> String
  ) {
    self.name = name
    self.kind = kind
    self.value = value
    self.others = others
  }

  package var testDescription: String { "\(name), \(kind)" }

  /// Returns the names and values that a user sends in a request.
  ///
  /// - Parameter number: the number of the request. Values that change are derived from it.
  package func lines(of user: String, _ number: Int = 0) -> [(name: String, value: String)] {
    [(name, value(user, number))] + others(user, number)
  }

  package func fields(of user: String, _ number: Int = 0) -> HTTPFields {
    HTTPFields(
      lines(of: user, number).compactMap { line in
        HTTPField.Name(line.name).map { HTTPField(name: $0, value: line.value) }
      })
  }

  /// Returns a text that no output may contain.
  package func secret(of user: String) -> String { value(user, 0) }

  /// The names of fields whose values stay the same.
  private static let stableNames = [
    "Cookie", "X-Api-Key", "Api-Key", "ApiKey", "X-Auth-Token", "X-Access-Token", "X-Amz-Security-Token",
    "X-Goog-Api-Key", "Private-Token", "X-Vault-Token", "X-Shopify-Access-Token", "Ocp-Apim-Subscription-Key",
    "X-Functions-Key", "X-Session-Id", "X-Auth-Key", "X-Secret", "X-Client-Secret", "X-Password", "X-Auth",
    "Authentication", "X-Authentication", "X-Credential", "X-Jwt-Assertion", "Proxy-Authorization",
  ]

  package static let stable =
    stableNames.map { name in CredentialCase(name, .stable) { user, _ in "s=\(user)-swordfish" } }
    + [
      CredentialCase("Authorization", .stable) { user, _ in "Bearer \(user)-swordfish" },
      CredentialCase("authorization", .stable) { user, _ in
        "Basic \(Data("\(user):swordfish".utf8).base64EncodedString())"
      },
      CredentialCase("X-Custom", .stable) { user, _ in "api_key=\(user)-swordfish" },
    ]

  package static let keyed = [
    CredentialCase("Authorization", .keyed, with: { _, number in [("X-Amz-Date", "20261126T00000\(number)Z")] }) {
      """
      AWS4-HMAC-SHA256 Credential=AK\($0)/20261126/eu/s3/aws4_request, SignedHeaders=host;x-amz-date, \
      Signature=5word\($0)\($1)
      """
    },
    CredentialCase("Authorization", .keyed) {
      #"Digest username="\#($0)", realm="r", nonce="n\#($1)", uri="/", response="5word\#($0)\#($1)""#
    },
    CredentialCase("Authorization", .keyed) {
      #"Signature keyId="\#($0)",algorithm="hs2019",signature="5word\#($0)\#($1)=""#
    },
    CredentialCase("Authorization", .keyed) { #"Hawk id="\#($0)", ts="\#($1)", nonce="a", mac="5word\#($0)\#($1)=""# },
    CredentialCase("Authorization", .keyed) {
      #"OAuth oauth_consumer_key="\#($0)", oauth_token="t", oauth_nonce="\#($1)", oauth_signature="5word\#($0)\#($1)""#
    },
    CredentialCase("Authorization", .keyed) { "AWS AK\($0):5word\($0)\($1)=" },
    CredentialCase("Authorization", .keyed) { "SharedKey \($0):5word\($0)\($1)=" },
    CredentialCase(
      "Signature", .keyed,
      with: { [("Signature-Input", #"sig1=("@method" "@path");created=\#($1);keyid="\#($0)""#)] }
    ) { "sig1=:5word\($0)\($1)=:" },
    CredentialCase("DPoP", .keyed, with: { user, _ in [("Authorization", "DPoP \(user)-token")] }) {
      "eyJ0eXAiOiJkcG9wK2p3dCJ9.5word\($0)\($1)"
    },
    CredentialCase("X-Csrf-Token", .keyed, with: { user, _ in [("Cookie", "s=\(user)")] }) { "5word\($0)\($1)" },
  ]

  package static let opaque =
    ["X-Signature", "X-Hub-Signature-256", "Signature", "X-Csrf-Token", "X-Xsrf-Token", "DPoP", "X-Auth-Signature"].map
  {
    CredentialCase($0, .opaque) { "5word\($0)\($1)" }
  } + [
    CredentialCase("Authorization", .opaque) { "Negotiate 5word\($0)\($1)" },
    CredentialCase("Authorization", .opaque) { #"HMAC-SHA256 signature="5word\#($0)\#($1)""# },
    CredentialCase("Authorization", .opaque) {
      #"Signature keyId="a", keyId="\#($0)", signature="5word\#($0)\#($1)""#
    },
    CredentialCase("X-Signature", .opaque, with: { user, _ in [("X-Api-Key", "app")] }) { "5word\($0)\($1)" },
  ]

  package static let all = stable + keyed + opaque
}
