// SPDX-License-Identifier: Apache-2.0

package import Lastro

/// A quota that a pacer shares with other processes. A request takes one unit of it when it is about to be sent.
package protocol SharedPace: Sendable {
  /// The number of instances among which a server's remaining quota is divided, at least 1.
  var instances: Int { get }

  /// Takes a unit if there is one now, and returns at once.
  func take() -> SharedTaking

  /// Takes a unit, after waiting for it if necessary.
  ///
  /// - Parameter limit: the longest wait. A wait that is known to last longer is not begun.
  func take(within limit: Duration) async -> SharedTaking

  /// Returns a unit whose request is not sent.
  func giveBack()

  /// Lets all instances send nothing for a while, because the server asked for that.
  func block(for duration: Duration)

  /// Returns the state of the quota, for `explain`.
  func words() -> String
}

/// The outcome of taking a unit of a ``SharedPace``.
package enum SharedTaking: Sendable, Hashable {
  /// The request may be sent. The notes report its wait, and once that the quota's store was lost, or that it is back.
  case taken([TransferFacts.Note])
  /// The request may not be sent yet; the wait is the known part of what is left.
  case refused(wait: Duration)
  /// The task was cancelled.
  case cancelled
}
