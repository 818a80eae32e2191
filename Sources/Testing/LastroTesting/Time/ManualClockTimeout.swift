// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// The error of a wait for the sleepers or the limits of a ``ManualClock`` that did not end in time.
///
/// Usually the code under test has returned or failed before it sleeps, or it does not use the clock.
package struct ManualClockTimeout: Error, Sendable, Hashable, CustomStringConvertible {
  /// The number of sleepers, or of limits, that was waited for.
  package let expected: Int
  let areLimits: Bool
  /// The longest wait; `nil` if the wait could not end.
  let patience: Duration?
  /// The number of tasks that slept when the wait ended.
  package let sleepers: Int
  /// The number of limits that were watched when the wait ended.
  package let limits: Int
  /// The number of sleeps that were requested of the clock so far.
  let requestedSleeps: Int

  /// A text that says what was waited for, what there was, and what to look at.
  package var description: String {
    let awaited = areLimits ? Self.text(expected, "watched limit") : Self.text(expected, "sleeping task")
    guard let patience else {
      return "a wait for \(awaited) does not end: with autoAdvance every sleep returns at once "
        + "(make the clock without autoAdvance, or read its sleeps)"
    }
    return "waited \(patience.brief) for \(awaited) of the ManualClock, which has "
      + "\(Self.text(sleepers, "sleeping task")) and \(Self.text(limits, "watched limit")), "
      + "after \(Self.text(requestedSleeps, "requested sleep")) "
      + "(the code under test may have returned or failed: await its result; "
      + "or pass the clock's timeSource to its stack)"
  }

  private static func text(_ count: Int, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }
}
