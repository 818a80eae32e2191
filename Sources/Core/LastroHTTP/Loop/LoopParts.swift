// SPDX-License-Identifier: Apache-2.0

internal import LastroSupport

/// The objects that the handle of a loop shares with the loop's driver.
struct LoopParts: Sendable {
  let inbox: LoopInbox
  let time: LoopTime
  /// The seat: a lock around the core. The loop's thread holds it during its turns. While that thread waits for
  /// descriptors, another thread may take it and begin a job of its own. In comments, "the loop's thread" means the
  /// thread that holds this lock. The core is `nil` before the loop begins and after it has ended.
  ///
  /// A single caller thus avoids a switch to another thread: waking a thread costs more than sending a request.
  let seat = Lock<LoopCore?>(nil)
  let thread = ThreadIdentity()
  /// Whether the loop has ended.
  let finished = Watched(false)
}
