// SPDX-License-Identifier: Apache-2.0

/// One object of the JSON document, which is an array of them.
public struct Person: Decodable, Sendable {
  /// Counts from zero.
  public let id: Int
  /// Name.
  public let name: String
  /// Address.
  public let email: String
  /// Number with a fraction.
  public let score: Double
  /// One in three is.
  public let active: Bool
  /// None to three words.
  public let tags: [String]
}
