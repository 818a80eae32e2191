// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// The reactor of loops in production: epoll and, if the loop's time is a `TimeSource`, an alarm of that source.
final class SystemReactor: Reactor {
  /// The owner of the descriptor that wakes the loop.
  static let wakeOwner = UInt32.max

  let poller: Poller
  /// Wakes the loop if its time is a `TimeSource`, whose time epoll cannot wait for.
  private let alarm: Alarm?

  init?(_ inbox: LoopInbox, _ time: LoopTime) {
    guard let poller = Poller() else { return nil }
    self.poller = poller
    alarm = time.source.map { source in
      Alarm(source) { now in
        time.notePassed(now)
        inbox.endSleep()
      }
    }
    poller.watchEdges(of: inbox.wakeDescriptor, owner: Self.wakeOwner)
  }

  var hasLeft: Bool { poller.hasLeft }

  func wait(_ wait: LoopWait) -> Int {
    if wait.left == 0 { return poller.hasLeft ? 0 : poller.wait(timeout: 0) }
    guard wait.left < .max else { return poller.wait(timeout: -1) }
    if let alarm {
      alarm.set(.nanoseconds(wait.due))
      return poller.wait(timeout: -1)
    }
    // Rounded up, so that the loop does not wake early and wait again.
    return poller.wait(timeout: Int32(clamping: (wait.left - 1) / 1_000_000 + 1))
  }

  func report(_ count: Int, to body: (Readiness) -> Void) -> Bool {
    poller.report(count, to: body)
    return !poller.hasLeft && poller.isAll(count)
  }

  /// Cancels the alarm, so that it no longer wakes the loop.
  func end() { alarm?.cancel() }
}
