// SPDX-License-Identifier: Apache-2.0

internal import CLastroHTTP2
internal import Glibc

/// The system's event queue. No other type uses epoll. Used by the loop's thread alone.
package final class Poller {
  /// The state of a descriptor, which is also its index in ``watches``.
  private struct Watch {
    var owner: UInt32 = 0
    /// The events registered with epoll, if any.
    var events: UInt32?
    /// Whether its owner wants its events.
    var isWanted = false
    /// Whether ``noteClosing(_:)`` is called before the descriptor is closed.
    var isKept = false
  }

  /// The maximum time that a turn spends on ready descriptors. The remaining ones wait for the next turn, so that
  /// commands and timers get their share.
  private static let turnNanoseconds: Int64 = 10_000_000

  private let epoll: Int32
  private let events: UnsafeMutableBufferPointer<epoll_event>
  /// The range of `events` that is still to be processed.
  // Unchecked, like `watches`, because only the loop accesses it, and no access spans the call that reports an event.
  @exclusivity(unchecked) private var left = 0..<0
  @exclusivity(unchecked) private var watches: [Watch] = []

  init?() {
    epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
    guard epoll >= 0 else { return nil }
    events = .allocate(capacity: 256)
    events.initialize(repeating: epoll_event())
  }

  deinit {
    events.deallocate()
    close(epoll)
  }

  /// Whether there are events that the last turn did not process.
  var hasLeft: Bool { !left.isEmpty }

  /// Watches a descriptor, or changes the events that are watched.
  package func watch(_ descriptor: Int32, owner: UInt32, read: Bool, write: Bool) {
    guard let index = index(of: descriptor) else { return }
    let old = watches[index]
    let events = (read ? EPOLLIN.rawValue : 0) | (write ? EPOLLOUT.rawValue : 0)
    watches[index].isWanted = true
    if old.events == events, old.owner == owner { return }
    watches[index].events = events
    watches[index].owner = owner
    var event = epoll_event()
    event.events = events
    event.data.u64 = UInt64(owner) << 32 | UInt64(UInt32(bitPattern: descriptor))
    let isNew = old.events == nil
    if epoll_ctl(epoll, isNew ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, descriptor, &event) == 0 { return }
    // The number was closed and reused without our knowledge, or the other way round. Try the other operation once.
    watches[index].isKept = false
    if epoll_ctl(epoll, isNew ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, descriptor, &event) != 0 { watches[index].events = nil }
  }

  /// Stops watching a descriptor.
  ///
  /// A socket whose closing is reported (``noteClosing(_:)``) stays registered with epoll, because a pooled connection
  /// is usually watched again, for the same events, before an event occurs. If an event occurs first, the socket is
  /// removed then.
  package func unwatch(_ descriptor: Int32) {
    guard let index = index(of: descriptor) else { return }
    watches[index].isWanted = false
    // libcurl before 8.2 does not report the closing of a socket that failed to connect (curl/curl#11439). Such a
    // socket is watched for writing, and must be removed here.
    if !watches[index].isKept || watches[index].events != EPOLLIN.rawValue { drop(descriptor, at: index) }
  }

  /// Notes a new socket, for which ``noteClosing(_:)`` will be called before it is closed.
  package func noteOpened(_ descriptor: Int32) {
    guard let index = index(of: descriptor) else { return }
    watches[index] = Watch(isKept: true)
  }

  /// Forgets a socket that is about to be closed, because the next socket may have the same number.
  package func noteClosing(_ descriptor: Int32) {
    guard let index = index(of: descriptor) else { return }
    drop(descriptor, at: index)
    watches[index] = Watch()
    forgetLeft(of: descriptor)
  }

  /// Returns whether an owner waits for a descriptor, and removes it from epoll if not.
  private func isWanted(_ descriptor: Int32) -> Bool {
    guard let index = index(of: descriptor) else { return false }
    if !watches[index].isWanted { drop(descriptor, at: index) }
    return watches[index].isWanted
  }

  private func drop(_ descriptor: Int32, at index: Int) {
    guard watches[index].events != nil else { return }
    watches[index].events = nil
    var event = epoll_event()
    _ = epoll_ctl(epoll, EPOLL_CTL_DEL, descriptor, &event)
  }

  /// Returns the index of a descriptor in ``watches``, which grows as needed. The system assigns the lowest free
  /// number, so the array is not much longer than the number of open descriptors.
  private func index(of descriptor: Int32) -> Int? {
    guard descriptor >= 0 else { return nil }
    let index = Int(descriptor)
    while index >= watches.count { watches.append(Watch()) }
    return index
  }

  /// Watches for the moments at which a descriptor becomes readable. Do not combine it with
  /// ``watch(_:owner:read:write:)``.
  func watchEdges(of descriptor: Int32, owner: UInt32) {
    if let index = index(of: descriptor) { watches[index].isWanted = true }
    var event = epoll_event()
    event.events = EPOLLIN.rawValue | EPOLLET.rawValue
    event.data.u64 = UInt64(owner) << 32 | UInt64(UInt32(bitPattern: descriptor))
    _ = epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event)
  }

  /// Waits for at most `timeout` milliseconds (negative: forever). Returns the number of events for
  /// ``report(_:to:)``.
  ///
  /// Other threads may watch and unwatch descriptors meanwhile. It must not be called while events are left
  /// (``hasLeft``).
  func wait(timeout: Int32) -> Int {
    guard let base = events.baseAddress else { return 0 }
    return max(0, Int(epoll_wait(epoll, base, Int32(events.count), timeout)))
  }

  /// Returns whether a wait that returned `count` events has reported all that were ready.
  func isAll(_ count: Int) -> Bool { count < events.count }

  /// Reports events for a limited time, but at least one. The remaining events are left for the next call.
  ///
  /// - Parameter count: the result of ``wait(timeout:)``; 0 if events are left from an earlier call.
  func report(_ count: Int, to body: (Readiness) -> Void) {
    if left.isEmpty { left = 0..<count }
    if left.isEmpty { return }
    let start = left.lowerBound, end = monotonicNow().adding(nanoseconds: Self.turnNanoseconds)
    while !left.isEmpty, left.lowerBound == start || monotonicNow() < end {
      let event = events[left.lowerBound]
      left = left.lowerBound + 1..<left.upperBound
      report(event, to: body)
    }
  }

  private func report(_ event: epoll_event, to body: (Readiness) -> Void) {
    let flags = event.events
    let descriptor = Int32(bitPattern: UInt32(truncatingIfNeeded: event.data.u64))
    if flags == 0 || !isWanted(descriptor) { return }
    body(
      Readiness(
        descriptor: descriptor,
        owner: UInt32(event.data.u64 >> 32),
        readable: flags & EPOLLIN.rawValue != 0,
        writable: flags & EPOLLOUT.rawValue != 0,
        failed: flags & (EPOLLERR.rawValue | EPOLLHUP.rawValue) != 0))
  }

  /// Discards the events of a closed socket, because the next socket may have the same number.
  private func forgetLeft(of descriptor: Int32) {
    for index in left where UInt32(truncatingIfNeeded: events[index].data.u64) == UInt32(bitPattern: descriptor) {
      events[index].events = 0
    }
  }
}
