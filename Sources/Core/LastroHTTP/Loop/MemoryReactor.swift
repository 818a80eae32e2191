// SPDX-License-Identifier: Apache-2.0

/// A reactor without descriptors. It reports the readiness that links in memory set, as epoll reports the readiness of
/// sockets, and never waits.
///
/// Events are reported in the order in which their descriptors were opened, so that equal histories have equal
/// outcomes.
package final class MemoryReactor: Reactor {
  private struct Entry {
    var owner: UInt32
    var isWatched = (read: false, write: false)
    var isReady = (read: false, write: false)

    /// The readiness to report. It is the current state and not its changes, as with epoll without `EPOLLET`.
    var readiness: (read: Bool, write: Bool) {
      (isWatched.read && isReady.read, isWatched.write && isReady.write)
    }
  }

  private var entries: [Int32: Entry] = [:]
  private var latest: Int32 = 0
  /// The descriptors that are ready, in ascending order.
  private var readyNow: [Int32] = []
  /// The descriptors that were ready at the latest wait.
  private var ready: [Int32] = []

  package init() {}

  /// The number of open descriptors.
  package var openCount: Int { entries.count }

  /// Opens a descriptor, with a number that was never used before.
  package func open(owner: UInt32) -> Int32 {
    latest += 1
    entries[latest] = Entry(owner: owner)
    return latest
  }

  package func close(_ descriptor: Int32) {
    entries[descriptor] = nil
    updateReadiness(of: descriptor)
  }

  /// Sets which kinds of readiness are reported.
  package func watch(_ descriptor: Int32, read: Bool, write: Bool) {
    entries[descriptor]?.isWatched = (read, write)
    updateReadiness(of: descriptor)
  }

  /// Sets the readiness of a descriptor.
  package func set(_ descriptor: Int32, readable: Bool, writable: Bool) {
    entries[descriptor]?.isReady = (readable, writable)
    updateReadiness(of: descriptor)
  }

  private func updateReadiness(of descriptor: Int32) {
    let index = readyNow.firstIndex { $0 >= descriptor } ?? readyNow.endIndex
    let isListed = index < readyNow.endIndex && readyNow[index] == descriptor
    guard isReady(descriptor) != isListed else { return }
    if isListed { readyNow.remove(at: index) } else { readyNow.insert(descriptor, at: index) }
  }

  /// Whether ``wait(until:)`` would return events.
  package var hasEvents: Bool { !readyNow.isEmpty }

  /// Always false, because each turn processes all events.
  package var hasLeft: Bool { false }

  package func wait(until due: Int64) -> Int {
    ready = readyNow
    return ready.count
  }

  private func isReady(_ descriptor: Int32) -> Bool {
    guard let readiness = entries[descriptor]?.readiness else { return false }
    return readiness.read || readiness.write
  }

  package func report(_ count: Int, to body: (Readiness) -> Void) -> Bool {
    for descriptor in ready.prefix(count) {
      // An earlier event may have closed this descriptor, or consumed its bytes.
      guard isReady(descriptor), let entry = entries[descriptor] else { continue }
      let (readable, writable) = entry.readiness
      body(
        Readiness(
          descriptor: descriptor, owner: entry.owner, readable: readable, writable: writable, failed: false))
    }
    ready = []
    return true
  }
}
