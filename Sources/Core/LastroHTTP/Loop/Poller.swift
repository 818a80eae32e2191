// SPDX-License-Identifier: Apache-2.0

internal import CLastroHTTP2
internal import Glibc

/// The system's event queue: the one room that knows epoll. Used by the loop thread alone.
package final class Poller {
  package typealias Ready = Readiness

  /// The state of a descriptor, which is also its index in ``watches``.
  private struct Watch {
    var owner: UInt32 = 0
    /// The events registered with epoll, if any.
    var events: UInt32?
    /// Whether its owner wants to hear of it.
    var isWanted = false
    /// Whether its end is reported (``noteClosing(_:)``).
    var isKept = false
  }

  /// After so long, what is ready and was not looked at waits for the next turn: others than descriptors have a right
  /// too.
  private static let turnNanoseconds: Int64 = 10_000_000

  private let epoll: Int32
  private let events: UnsafeMutableBufferPointer<epoll_event>
  /// The range of `events` that is still to be processed.
  // Unchecked, as `watches`, because the loop has it alone, and no access spans the call that reports an event.
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

  /// Whether something is ready that the last turn did not come to.
  var hasLeft: Bool { !left.isEmpty }

  /// Watches a descriptor, or changes what is watched.
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
    // The number was closed and given out again behind our back, or the other way round: try the other verb once.
    watches[index].isKept = false
    if epoll_ctl(epoll, isNew ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, descriptor, &event) != 0 { watches[index].events = nil }
  }

  /// Watches a descriptor no longer.
  ///
  /// epoll keeps a socket whose end is reported: a pooled connection is mostly watched again, in the same way, before
  /// anything happens on it. If something does, it is taken out then.
  package func unwatch(_ descriptor: Int32) {
    guard let index = index(of: descriptor) else { return }
    watches[index].isWanted = false
    // The end of one that does not connect is not reported (libcurl before 8.2, curl/curl#11439): it is watched for
    // writing.
    if !watches[index].isKept || watches[index].events != EPOLLIN.rawValue { drop(descriptor, at: index) }
  }

  /// A socket was made; from now on ``noteClosing(_:)`` is called before it is closed.
  package func noteOpened(_ descriptor: Int32) {
    guard let index = index(of: descriptor) else { return }
    watches[index] = Watch(isKept: true)
  }

  /// Forgets a socket that is about to be closed: the next with its number is another.
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

  /// The system gives out the lowest free number, so there are not many more places than open descriptors.
  private func index(of descriptor: Int32) -> Int? {
    guard descriptor >= 0 else { return nil }
    let index = Int(descriptor)
    while index >= watches.count { watches.append(Watch()) }
    return index
  }

  /// Watches for the moments at which a descriptor becomes readable. Not to be mixed with
  /// ``watch(_:owner:read:write:)``.
  func watchEdges(of descriptor: Int32, owner: UInt32) {
    if let index = index(of: descriptor) { watches[index].isWanted = true }
    var event = epoll_event()
    event.events = EPOLLIN.rawValue | EPOLLET.rawValue
    event.data.u64 = UInt64(owner) << 32 | UInt64(UInt32(bitPattern: descriptor))
    _ = epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event)
  }

  /// Waits for at most `timeout` milliseconds (negative: for ever). Gives how many are ready, for ``handOver(_:to:)``.
  ///
  /// Other threads may watch and unwatch meanwhile. Not while something is left (``hasLeft``).
  func wait(timeout: Int32) -> Int {
    guard let base = events.baseAddress else { return 0 }
    return max(0, Int(epoll_wait(epoll, base, Int32(events.count), timeout)))
  }

  /// Whether that may be all that was ready.
  func isAll(_ count: Int) -> Bool { count < events.count }

  /// Hands over what is ready. What takes too long is left for the next call.
  ///
  /// - Parameter count: what ``wait(timeout:)`` gave; 0 where something is left.
  func handOver(_ count: Int, to body: (Ready) -> Void) {
    if left.isEmpty { left = 0..<count }
    if left.isEmpty { return }
    let start = left.lowerBound, end = monotonicNow().adding(nanoseconds: Self.turnNanoseconds)
    while !left.isEmpty, left.lowerBound == start || monotonicNow() < end {
      let event = events[left.lowerBound]
      left = left.lowerBound + 1..<left.upperBound
      handOver(event, to: body)
    }
  }

  private func handOver(_ event: epoll_event, to body: (Ready) -> Void) {
    let flags = event.events
    let descriptor = Int32(bitPattern: UInt32(truncatingIfNeeded: event.data.u64))
    if flags == 0 || !isWanted(descriptor) { return }
    body(
      Ready(
        descriptor: descriptor,
        owner: UInt32(event.data.u64 >> 32),
        readable: flags & EPOLLIN.rawValue != 0,
        writable: flags & EPOLLOUT.rawValue != 0,
        failed: flags & (EPOLLERR.rawValue | EPOLLHUP.rawValue) != 0))
  }

  /// Discards events of a closed socket: the next socket may have its number.
  private func forgetLeft(of descriptor: Int32) {
    for index in left where UInt32(truncatingIfNeeded: events[index].data.u64) == UInt32(bitPattern: descriptor) {
      events[index].events = 0
    }
  }
}
