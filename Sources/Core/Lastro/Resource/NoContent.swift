// SPDX-License-Identifier: Apache-2.0

/// The model of a response whose body is empty or ignored.
public struct NoContent: Sendable, Hashable, Decodable {
  /// Makes the only value.
  public init() {}

  /// Decodes from any payload.
  ///
  /// - Throws: never; the payload is not read.
  public init(from decoder: any Decoder) throws {}
}
