// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// What writes and reads JSON where nothing else is said: the stack's, while a call makes its request and decodes its
/// answer.
struct JSONCoders: Sendable {
  var encoder: JSONEncoder?
  var decoder: JSONDecoder?

  @TaskLocal static var current: Self?

  private static let decoder = JSONDecoder()

  /// Making a decoder costs more than decoding a small model, so that all share one.
  static var usualDecoder: JSONDecoder { current?.decoder ?? decoder }
}
