// SPDX-License-Identifier: Apache-2.0

public import Lastro

/// The credentials of an AWS account or role.
public struct AWSCredentials: Sendable, Hashable {
  /// The identifier of the access key. It is sent with every request, and is no secret.
  public let accessKeyID: String
  /// The secret access key. It signs, and is never sent.
  public let secretAccessKey: Secret
  /// The token of temporary credentials, sent as `X-Amz-Security-Token`.
  public let sessionToken: Secret?

  /// Makes credentials.
  ///
  /// - Parameters:
  ///   - accessKeyID: the identifier: letters, digits and underscores.
  ///   - secretAccessKey: the secret; not empty.
  ///   - sessionToken: the token of temporary credentials. Default `nil`: the credentials are permanent.
  /// - Throws: `ConfigurationError` if one of them is empty or has characters that it cannot have. The message
  ///   includes none of them.
  public init(
    accessKeyID: String, secretAccessKey: Secret, sessionToken: Secret? = nil
  ) throws(ConfigurationError) {
    guard !accessKeyID.isEmpty, accessKeyID.utf8.count <= 128, accessKeyID.utf8.allSatisfy(Self.isIdentifier) else {
      throw ConfigurationError(
        "the AWS access key id is empty, or has other characters than letters, digits and underscores",
        hint: "give the id alone, such as AKIAIOSFODNN7EXAMPLE, without a line end")
    }
    guard !secretAccessKey.isEmpty, Self.isOneWord(secretAccessKey) else {
      throw ConfigurationError(
        "the AWS secret access key is empty, or has a character that is not visible ASCII",
        hint: "trim it: a key read from a file often ends with a newline")
    }
    guard sessionToken.map({ !$0.isEmpty && Self.isOneWord($0) }) ?? true else {
      throw ConfigurationError(
        "the AWS session token is empty, or has a character that is not visible ASCII",
        hint: "leave it out for permanent credentials, and trim it otherwise")
    }
    self.accessKeyID = accessKeyID
    self.secretAccessKey = secretAccessKey
    self.sessionToken = sessionToken
  }

  private static func isIdentifier(_ byte: UInt8) -> Bool {
    ByteSet.unreserved.contains(byte) && !"-.~".utf8.contains(byte)
  }

  private static func isOneWord(_ secret: Secret) -> Bool {
    secret.reveal().utf8.allSatisfy { (0x21...0x7E).contains($0) }
  }
}
