// SPDX-License-Identifier: Apache-2.0

internal import LastroSupport

/// The objects that the handle of a loop shares with the loop's driver.
struct LoopParts: Sendable {
  let inbox: LoopInbox
  let time: LoopTime
  let seat = LoopSeat()
  let thread = ThreadIdentity()
  /// Whether the loop has ended.
  let finished = Watched(false)
}
