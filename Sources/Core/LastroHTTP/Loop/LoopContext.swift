// SPDX-License-Identifier: Apache-2.0

/// The parts of a loop that its engines and its guest share.
///
/// Owner: ``LoopCore``. Thread: the loop's.
package final class LoopContext {
  private static let scratchBytes = 64 * 1024

  /// The loop's inbox, which is also the executor of the reads and writes of streams that Lastro implements.
  package let inbox: LoopInbox
  let time: LoopTime
  /// The time in nanoseconds (``LoopTime/now``). It is read when a turn begins, and when a job begins between turns:
  /// reading the system's clock has a cost, and a turn has dozens of callbacks.
  // Unchecked because only the loop's thread accesses it, and reading a clock does not reenter this object.
  @exclusivity(unchecked) package private(set) var now: Int64
  let deliveries = Deliveries()
  let bodies = BodyBlockStore()
  /// Memory for received bytes. As with the two properties below, only one function at a time may use it.
  package let scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: scratchBytes, alignment: 16)
  /// Memory for bytes to send. It may be used while the memory for received bytes is in use.
  let sendingSpace = UnsafeMutableRawBufferPointer.allocate(byteCount: scratchBytes, alignment: 16)
  /// Memory for a piece of a request body that an HTTP/2 connection reads while `sendingSpace` is in use.
  let bodySpace = UnsafeMutableRawBufferPointer.allocate(byteCount: scratchBytes, alignment: 16)
  /// Whether, since the job that is about to begin was created, the poller was queried and all its events were
  /// processed. If so, no unread byte of an idle connection arrived before the job was created.
  var hasLooked = false
  /// The number of running exchanges of all engines.
  var exchanges = 0
  /// The time at which the limits of engines are checked next.
  var enginesDue = Int64.max
  /// Events for the next ``turn()``: results of dials, and reads to continue.
  private var events: [() -> Void] = []
  /// Hosts with free capacity, and HTTP/2 connections with bytes to send. Both are processed at the end of the turn.
  private var served: [HostPool] = []
  private var sending: [HTTP2Multiplexer] = []

  init(inbox: LoopInbox, time: LoopTime) {
    self.inbox = inbox
    self.time = time
    now = time.now
  }

  deinit {
    scratch.deallocate()
    sendingSpace.deallocate()
    bodySpace.deallocate()
  }

  /// Reads the time.
  func updateNow() { now = time.now }

  // MARK: Engines

  func scheduleEngines(at time: Int64) { enginesDue = min(enginesDue, time) }

  /// Performs an event in the next ``turn()``.
  func performInNextTurn(_ event: @escaping () -> Void) { events.append(event) }

  /// Schedules the service of a host that has free capacity. A host is scheduled once until it is served.
  func scheduleService(of host: HostPool) {
    if host.isAwaitingService { return }
    host.isAwaitingService = true
    served.append(host)
  }

  /// Schedules a flush of an HTTP/2 connection, which has bytes to send. The connection calls this once until it is
  /// flushed.
  func scheduleFlush(of connection: HTTP2Multiplexer) { sending.append(connection) }

  var isTurnWanted: Bool { !events.isEmpty }

  /// Processes the events that have been recorded so far.
  func turn() {
    if events.isEmpty { return }
    // Events that result are processed in the next turn, so that others are served in between.
    let current = events
    events = []
    for event in current { event() }
  }

  /// Serves the hosts with free capacity, and sends the queued bytes of HTTP/2 connections, all of a turn at once.
  func settle() {
    while !(served.isEmpty && sending.isEmpty) {
      let hosts = served
      served = []
      for host in hosts { host.serve() }
      let connections = sending
      sending = []
      for connection in connections { connection.flush() }
    }
  }

  /// Serves the hosts of an engine that ends no more. Its connections are closed, and have nothing to send.
  func forget(_ engine: HTTPEngine) { served.removeAll { $0.engine === engine } }

  func tearDown() {
    events = []
    served = []
    sending = []
  }
}
