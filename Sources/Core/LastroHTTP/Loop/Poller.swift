// SPDX-License-Identifier: Apache-2.0

internal import CLastroHTTP2
internal import Glibc
internal import Lastro
internal import LastroSupport
internal import Synchronization

/// The reactor of loops in production: the system's event queue and, if the loop's time is a `TimeSource`, an alarm of
/// that source. No other type uses epoll. Used by the loop's thread alone.
package final class Poller: Reactor {
  /// The owner of the descriptor that wakes the loop.
  static let wakeOwner = UInt32.max

  /// The state of a descriptor, which is also its index in ``watches``.
  private struct Watch {
    var owner: UInt32 = 0
    /// The events registered with epoll, if any.
    var events: UInt32?
    /// Whether its owner wants its events.
    var isWanted = false
    /// Whether ``forget(_:)`` is called before the descriptor is closed.
    var isKept = false
  }

  /// The maximum time that a turn spends on ready descriptors. The remaining ones wait for the next turn, so that
  /// commands and timers get their share.
  private static let turnNanoseconds: Int64 = 10_000_000
  /// The maximum wait while there are refused watches, in milliseconds.
  private static let refusalTimeout: Int32 = 20

  private let epoll: Int32
  private let events: UnsafeMutableBufferPointer<epoll_event>
  /// The range of `events` that is still to be processed.
  // Unchecked, like `watches`, because only the loop accesses it, and no access spans the call that reports an event.
  @exclusivity(unchecked) private var left = 0..<0
  @exclusivity(unchecked) private var watches: [Watch] = []
  /// The watches that the system had no memory for, or that exceeded its limit. They are requested again in every turn.
  private var refused: [Int32: (owner: UInt32, events: UInt32)] = [:]
  /// Whether there are ``refused`` watches. Atomic because the wait reads it while another thread may turn the loop.
  private let hasRefused = Atomic(false)
  private let refusal: (() -> Int32)?
  private let inbox: LoopInbox
  private let time: LoopTime
  /// The task that wakes the loop at ``alarmDue``, if the loop's time is a `TimeSource`, whose time epoll cannot wait
  /// for.
  private var alarm: Task<Void, Never>?
  private var alarmDue = Int64.min

  /// Creates a poller; returns `nil`, with the reason in `errno`, if the system has no resources for it.
  ///
  /// - Parameter refusal: returns the error with which the next watch fails, or 0. Default `nil`: the system decides. For
  ///   tests.
  init?(_ inbox: LoopInbox, _ time: LoopTime, refusal: (() -> Int32)? = nil) {
    self.inbox = inbox
    self.time = time
    self.refusal = refusal
    epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
    guard epoll >= 0 else { return nil }
    events = .allocate(capacity: 256)
    events.initialize(repeating: epoll_event())
    // An edge-triggered descriptor need not be read.
    if let index = index(of: inbox.wakeDescriptor) { watches[index].isWanted = true }
    var event = epoll_event()
    event.events = EPOLLIN.rawValue | EPOLLET.rawValue
    event.data.u64 = UInt64(Self.wakeOwner) << 32 | UInt64(UInt32(bitPattern: inbox.wakeDescriptor))
    guard control(EPOLL_CTL_ADD, inbox.wakeDescriptor, &event) == 0 else { return nil }
  }

  deinit {
    events.deallocate()
    close(epoll)
  }

  /// Whether there are events that the last turn did not process.
  package var hasLeft: Bool { !left.isEmpty }

  /// Watches a descriptor, or changes the events that are watched.
  package func watch(_ descriptor: Int32, owner: UInt32, read: Bool, write: Bool) {
    watch(descriptor, owner, (read ? EPOLLIN.rawValue : 0) | (write ? EPOLLOUT.rawValue : 0))
  }

  private func watch(_ descriptor: Int32, _ owner: UInt32, _ events: UInt32) {
    guard let index = index(of: descriptor) else { return }
    let old = watches[index]
    watches[index].isWanted = true
    stopRefusing(descriptor)
    if old.events == events, old.owner == owner { return }
    watches[index].events = events
    watches[index].owner = owner
    var event = epoll_event()
    event.events = events
    event.data.u64 = UInt64(owner) << 32 | UInt64(UInt32(bitPattern: descriptor))
    let isNew = old.events == nil
    if control(isNew ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, descriptor, &event) == 0 { return }
    if errno == ENOSPC || errno == ENOMEM { return refuse(descriptor, at: index, owner, events, before: old) }
    // The number was closed and reused without our knowledge, or the other way round. Try the other operation once.
    watches[index].isKept = false
    if control(isNew ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, descriptor, &event) == 0 { return }
    watches[index].events = nil
    if errno == ENOSPC || errno == ENOMEM { refuse(descriptor, at: index, owner, events, before: watches[index]) }
  }

  private func control(_ operation: Int32, _ descriptor: Int32, _ event: inout epoll_event) -> Int32 {
    guard let code = refusal?(), code != 0 else { return epoll_ctl(epoll, operation, descriptor, &event) }
    errno = code
    return -1
  }

  /// Records that a watch has to be requested again. Otherwise its owner would wait forever.
  private func refuse(_ descriptor: Int32, at index: Int, _ owner: UInt32, _ events: UInt32, before old: Watch) {
    watches[index].events = old.events
    watches[index].owner = old.owner
    refused[descriptor] = (owner, events)
    // Another thread may be turning the loop while the loop's own thread waits without a limit.
    if !hasRefused.exchange(true, ordering: .relaxed) { inbox.endSleep() }
  }

  private func stopRefusing(_ descriptor: Int32) {
    if !refused.isEmpty { refused[descriptor] = nil }
  }

  /// Requests the refused watches again.
  private func watchRefused() {
    guard hasRefused.load(ordering: .relaxed) else { return }
    for (descriptor, request) in refused { watch(descriptor, request.owner, request.events) }
    hasRefused.store(!refused.isEmpty, ordering: .relaxed)
  }

  /// Stops watching a descriptor.
  ///
  /// A kept socket (``keep(_:)``) stays registered with epoll, because a pooled connection is usually watched again, for
  /// the same events, before an event occurs. If an event occurs first, the socket is removed then.
  package func unwatch(_ descriptor: Int32) {
    guard let index = index(of: descriptor) else { return }
    watches[index].isWanted = false
    stopRefusing(descriptor)
    // libcurl before 8.2 does not report the closing of a socket that failed to connect (curl/curl#11439). Such a
    // socket is watched for writing, and must be removed here.
    if !watches[index].isKept || watches[index].events != EPOLLIN.rawValue { drop(descriptor, at: index) }
  }

  /// Keeps a new socket registered when it is unwatched. ``forget(_:)`` must be called before it is closed.
  package func keep(_ descriptor: Int32) {
    guard let index = index(of: descriptor) else { return }
    watches[index] = Watch(isKept: true)
    stopRefusing(descriptor)
  }

  /// Forgets a socket that is about to be closed, because the next socket may have the same number.
  package func forget(_ descriptor: Int32) {
    guard let index = index(of: descriptor) else { return }
    drop(descriptor, at: index)
    watches[index] = Watch()
    stopRefusing(descriptor)
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

  /// Waits as ``Reactor/wait(until:)`` describes. Other threads may watch and unwatch descriptors meanwhile.
  package func wait(until due: Int64) -> Int {
    if due == 0 { return hasLeft ? 0 : wait(timeout: 0) }
    guard due < .max else { return wait(timeout: -1) }
    if let source = time.source {
      setAlarm(due, source)
      return wait(timeout: -1)
    }
    // Rounded up, so that the loop does not wake early and wait again.
    return wait(timeout: Int32(clamping: max(0, due - time.now).adding(nanoseconds: 999_999) / 1_000_000))
  }

  /// Wakes the loop at a time, unless a pending alarm wakes it before. An alarm that comes too early costs the
  /// loop a turn, and one that was replaced does not move the loop's time.
  private func setAlarm(_ due: Int64, _ source: TimeSource) {
    if alarmDue <= due, alarmDue > time.now { return }
    alarm?.cancel()
    alarmDue = due
    alarm = Task { [inbox, time] in
      let end = Duration.nanoseconds(due), left = end - source.now()
      if left > .zero {
        do { try await source.limit(left.countable) } catch { return }
      }
      // The limit may end at the moment of the cancellation, which comes before the time of a late alarm.
      if Task.isCancelled { return }
      // A test clock may let a limit pass without advancing.
      time.advance(to: max(source.now(), end))
      inbox.endSleep()
    }
  }

  /// Cancels the alarm, so that it no longer wakes the loop.
  func cancelAlarm() { alarm?.cancel() }

  /// Waits for at most `timeout` milliseconds (negative: forever), while no events are left.
  private func wait(timeout: Int32) -> Int {
    guard let base = events.baseAddress else { return 0 }
    var timeout = timeout
    if hasRefused.load(ordering: .relaxed), timeout < 0 || timeout > Self.refusalTimeout {
      timeout = Self.refusalTimeout
    }
    return max(0, Int(epoll_wait(epoll, base, Int32(events.count), timeout)))
  }

  /// Reports events for a limited time, but at least one. The remaining events are left for the next call.
  ///
  /// - Parameter count: the result of ``wait(until:)``; 0 if events are left from an earlier call.
  @discardableResult
  package func report(_ count: Int, to body: (Readiness) -> Void) -> Bool {
    watchRefused()
    if left.isEmpty { left = 0..<count }
    if left.isEmpty { return true }
    let start = left.lowerBound, end = monotonicNow().adding(nanoseconds: Self.turnNanoseconds)
    while !left.isEmpty, left.lowerBound == start || monotonicNow() < end {
      let event = events[left.lowerBound]
      left = left.lowerBound + 1..<left.upperBound
      report(event, to: body)
    }
    return left.isEmpty && count < events.count
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
