// SPDX-License-Identifier: Apache-2.0

/// An interceptor that asks for something through the stack of the call that it runs for.
protocol StackUser {}

/// The stack on whose behalf hooks run, while one of them may ask it: what they begin and do not end keeps none alive.
struct CallingStack: Sendable {
  weak let core: StackCore?

  init(_ core: StackCore) { self.core = core }

  @TaskLocal static var current: Self?
}
