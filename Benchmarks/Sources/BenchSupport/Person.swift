// SPDX-License-Identifier: Apache-2.0

/// An object of the JSON document, which is an array of such objects.
public struct Person: Decodable, Sendable {
  /// The index of the object, starting from zero.
  public let id: Int
  /// The name of the person.
  public let name: String
  /// The e-mail address.
  public let email: String
  /// A number with a fraction.
  public let score: Double
  /// Whether the person is active, as every third one is.
  public let active: Bool
  /// Zero to three words.
  public let tags: [String]
}
