// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Synchronization

/// The JSON encoder and decoder to use if a resource names none: those of the stack, while a call makes its request and
/// decodes its response.
struct JSONCoders: Sendable {
  var encoder: JSONEncoder?
  var decoder: JSONDecoder?

  @TaskLocal static var current: Self?

  /// Whether any stack of this process sets coders. If none does, the lookup of the task-local value is skipped.
  static let areUsed = Atomic<Bool>(false)
  /// Whether a stack's coders are set for the current task. They may be those of another stack.
  static var areOthers: Bool { areUsed.load(ordering: .relaxed) && current != nil }

  private static let decoder = JSONDecoder()

  /// The current stack's decoder, or else a shared one: making a decoder costs more than decoding a small model.
  static var usualDecoder: JSONDecoder { current?.decoder ?? decoder }
}
