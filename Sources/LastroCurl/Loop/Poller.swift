// SPDX-License-Identifier: Apache-2.0

internal import CLastro

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#endif

/// The system's event queue: the one room that knows epoll. Used by the loop thread alone.
final class Poller {
  /// A descriptor that is ready, and the owner it was registered for.
  struct Ready {
    var descriptor: Int32
    var owner: UInt32
    var readable: Bool
    var writable: Bool
    var failed: Bool
  }

  private let epoll: Int32
  private var events: [epoll_event]
  private var registered: Set<Int32> = []

  init?() {
    epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
    guard epoll >= 0 else { return nil }
    events = Array(repeating: epoll_event(), count: 256)
  }

  deinit { close(epoll) }

  /// Watches a descriptor, or changes what is watched.
  func watch(_ descriptor: Int32, owner: UInt32, read: Bool, write: Bool) {
    var event = epoll_event()
    event.events = (read ? EPOLLIN.rawValue : 0) | (write ? EPOLLOUT.rawValue : 0)
    event.data.u64 = UInt64(owner) << 32 | UInt64(UInt32(bitPattern: descriptor))
    let isNew = registered.insert(descriptor).inserted
    if epoll_ctl(epoll, isNew ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, descriptor, &event) == 0 { return }
    // The number was closed and given out again behind our back, or the other way round: try the other verb once.
    _ = epoll_ctl(epoll, isNew ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, descriptor, &event)
  }

  /// Watches for the moments at which a descriptor becomes readable. Not to be mixed with ``watch(_:owner:read:write:)``.
  func watchEdges(of descriptor: Int32, owner: UInt32) {
    var event = epoll_event()
    event.events = EPOLLIN.rawValue | EPOLLET.rawValue
    event.data.u64 = UInt64(owner) << 32 | UInt64(UInt32(bitPattern: descriptor))
    _ = epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event)
  }

  func unwatch(_ descriptor: Int32) {
    guard registered.remove(descriptor) != nil else { return }
    var event = epoll_event()
    _ = epoll_ctl(epoll, EPOLL_CTL_DEL, descriptor, &event)
  }

  /// Waits for at most `timeout` milliseconds (negative: for ever), calls `afterwards`, then hands over what is ready.
  func wait(timeout: Int32, then afterwards: () -> Void, each body: (Ready) -> Void) {
    let count = events.withUnsafeMutableBufferPointer { buffer in
      guard let base = buffer.baseAddress else { return 0 }
      return Int(epoll_wait(epoll, base, Int32(buffer.count), timeout))
    }
    afterwards()
    guard count > 0 else { return }
    for index in 0..<count {
      let event = events[index]
      let flags = event.events
      body(
        Ready(
          descriptor: Int32(bitPattern: UInt32(truncatingIfNeeded: event.data.u64)),
          owner: UInt32(event.data.u64 >> 32),
          readable: flags & EPOLLIN.rawValue != 0,
          writable: flags & EPOLLOUT.rawValue != 0,
          failed: flags & (EPOLLERR.rawValue | EPOLLHUP.rawValue) != 0))
    }
  }
}

/// The time of a turn of the loop: when it woke. Reading the clock is not free, and callbacks come by the dozen.
final class LoopClock {
  /// As ``monotonicNow()``.
  private(set) var now = monotonicNow()

  func update() { now = monotonicNow() }
}

/// Nanoseconds of the monotonic clock. `Int64` and not `ContinuousClock.Instant`: it is read several times a turn.
func monotonicNow() -> Int64 {
  var time = timespec()
  clock_gettime(CLOCK_MONOTONIC, &time)
  return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}

extension Duration {
  /// Whole nanoseconds, saturating.
  var nanoseconds: Int64 {
    let (seconds, attoseconds) = components
    let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    let (sum, overflows) = product.addingReportingOverflow(attoseconds / 1_000_000_000)
    return overflow || overflows ? (seconds < 0 ? .min : .max) : sum
  }
}

extension Int64 {
  /// This point in time and a positive duration later, at most the end of time.
  func adding(_ duration: Duration) -> Int64 {
    let (sum, overflow) = addingReportingOverflow(duration.nanoseconds)
    return overflow ? .max : sum
  }
}
