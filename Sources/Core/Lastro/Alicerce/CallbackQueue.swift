// SPDX-License-Identifier: Apache-2.0

/// A queue on which the completion of a callback form is called.
public struct CallbackQueue: Sendable {
  /// Runs a closure exactly once, now or later.
  package let run: @Sendable (@escaping @Sendable () -> Void) -> Void

  /// Makes a queue that runs completions elsewhere, such as on a dispatch queue:
  /// `CallbackQueue { queue.async(execute: $0) }`.
  ///
  /// - Parameter run: a closure that must run its argument exactly once.
  public init(_ run: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void) {
    self.run = run
  }

  /// A queue that runs completions on the thread of the concurrent pool on which the work ended. A completion must not
  /// block it.
  public static let concurrent = CallbackQueue { $0() }

  /// A queue that runs completions on the main actor.
  public static let mainActor = CallbackQueue { work in
    Task { @MainActor in work() }
  }
}
