// SPDX-License-Identifier: Apache-2.0

/// Where the completion of a callback form runs.
public struct CallbackQueue: Sendable {
  /// Runs one piece of work, once, now or later.
  package let run: @Sendable (@escaping @Sendable () -> Void) -> Void

  /// Runs completions elsewhere, such as on a dispatch queue: `CallbackQueue { queue.async(execute: $0) }`.
  ///
  /// - Parameter run: must run what it is given exactly once.
  public init(_ run: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void) {
    self.run = run
  }

  /// On a thread of the concurrent pool, the one on which the work ended. A completion must not block it.
  public static let concurrent = CallbackQueue { $0() }

  /// On the main actor.
  public static let mainActor = CallbackQueue { work in
    Task { @MainActor in work() }
  }
}
