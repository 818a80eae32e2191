// SPDX-License-Identifier: Apache-2.0

/// The part of a stack that a request uses, such as the jar of its cookies, or the parts that protect it from failing
/// servers.
///
/// ```swift
/// var options = RequestOptions()
/// options.cookies = .with(jar)
/// options.resilience = .none
/// ```
public enum StackPartUse<Part: Sendable>: Sendable {
  /// The stack's own, if it has one.
  case stack
  /// None, even if the stack has one.
  case none
  /// This one instead of the stack's. It also applies in a stack without one.
  case with(Part)
}
