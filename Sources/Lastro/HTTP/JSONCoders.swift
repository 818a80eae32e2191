// SPDX-License-Identifier: Apache-2.0

import Synchronization

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

  /// Whether a stack of this process has any: the look for those of a task is left out where none has.
  static let areUsed = Atomic<Bool>(false)
  /// Whether another stack's are in force.
  static var areOthers: Bool { areUsed.load(ordering: .relaxed) && current != nil }

  private static let decoder = JSONDecoder()

  /// Making a decoder costs more than decoding a small model, so that all share one.
  static var usualDecoder: JSONDecoder { current?.decoder ?? decoder }
}
