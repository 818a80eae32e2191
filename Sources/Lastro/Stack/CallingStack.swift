// SPDX-License-Identifier: Apache-2.0

/// The stack on whose behalf hooks run: what they begin and do not end keeps none alive.
struct CallingStack: Sendable {
  weak let core: StackCore?

  init(_ core: StackCore) { self.core = core }

  @TaskLocal static var current: Self?
}
