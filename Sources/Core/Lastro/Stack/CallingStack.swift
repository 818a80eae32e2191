// SPDX-License-Identifier: Apache-2.0

/// An interceptor that sends requests of its own through the stack of the call that it runs for.
protocol StackUser {}

/// The stack whose hooks are running, for hooks that send requests through it. The reference is weak: work that a hook
/// starts and does not finish keeps no stack alive.
struct CallingStack: Sendable {
  weak let core: StackCore?

  init(_ core: StackCore) { self.core = core }

  @TaskLocal static var current: Self?
}
