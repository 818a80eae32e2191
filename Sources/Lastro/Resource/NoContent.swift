// SPDX-License-Identifier: Apache-2.0

/// The model of an answer whose body carries nothing.
public struct NoContent: Sendable, Hashable, Decodable {
  /// Makes the one value.
  public init() {}

  /// Decodes from anything.
  ///
  /// - Throws: never: the payload is not looked at.
  public init(from decoder: any Decoder) throws {}
}
