// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import LastroSupport

/// Passes reports to a handler, one at a time, outside the thread that judges. Identical failures are reported once per
/// interval.
final class TrustReporter: Sendable {
  /// The properties that two failures share if they are the same failure. The chain is compared by its keys and not by
  /// its certificates, so that a certificate renewed with the same key does not count as a new failure.
  private struct Identity: Hashable {
    var host: HostName
    var port: Int
    var role: ServerTrust.Role
    var reason: TrustFailure.Reason
    var policy: PinningPolicy?
    var chain: [SPKIHash]

    init(_ failure: TrustFailure) {
      host = failure.trust.host
      port = failure.trust.port
      role = failure.trust.role
      reason = failure.reason
      policy = failure.policy
      chain = failure.trust.chain.map(\.pin)
    }
  }

  private struct Memory {
    var reported: Duration
    var suppressed = 0
  }

  private struct State {
    var known: [Identity: Memory] = [:]
    var waiting: [TrustReport] = []
    var isHandling = false
    /// The number of reports that were dropped because the queue was full.
    var dropped: UInt64 = 0
    /// The numbers of reports that were added to ``waiting``, and of those that the handler has finished.
    var accepted: UInt64 = 0
    var handled: UInt64 = 0

    mutating func remember(_ memory: Memory?, of identity: Identity) {
      known[identity] = memory
      guard known.count > maximumRemembered else { return }
      // A linear search is acceptable: it is rare, and there are only a few hundred entries.
      if let oldest = known.min(by: { $0.value.reported < $1.value.reported })?.key { known[oldest] = nil }
    }
  }

  /// The maximum number of failures to remember. Beyond it, the oldest is forgotten, and reported again if it recurs.
  static let maximumRemembered = 256
  /// The maximum number of reports that wait for the handler. Further reports are dropped, and counted as suppressed.
  static let maximumWaiting = 64

  private let interval: Duration
  private let handler: @Sendable (TrustReport) async -> Void
  private let state = Watched(State())

  init(interval: Duration, handler: @escaping @Sendable (TrustReport) async -> Void) {
    self.interval = interval
    self.handler = handler
  }

  func report(_ failure: TrustFailure, isEnforced: Bool, at time: TimeSource) {
    let identity = Identity(failure)
    let now = time.now()
    let date = Date(timeIntervalSince1970: time.sinceEpoch().inSeconds)
    let mustStart = state.change { state -> Bool in
      var memory = state.known[identity]
      let isDue = memory.map { now - $0.reported >= interval } ?? true
      guard isDue, state.waiting.count < Self.maximumWaiting else {
        // A failure that was dropped because the queue was full must not wait for the interval.
        memory = memory ?? Memory(reported: now - interval)
        memory?.suppressed += 1
        if isDue { state.dropped += 1 }
        state.remember(memory, of: identity)
        return false
      }
      state.waiting.append(
        TrustReport(failure, date: date, isEnforced: isEnforced, suppressed: memory?.suppressed ?? 0))
      state.accepted += 1
      state.remember(Memory(reported: now), of: identity)
      defer { state.isHandling = true }
      return !state.isHandling
    }
    // Detached: the handler must not inherit the priority or the task-local values of the task whose fetch caused the
    // report.
    if mustStart { Task.detached { await self.handleAll() } }
  }

  /// The number of reports that were dropped because the queue was full.
  var dropped: UInt64 { state.read { $0.dropped } }

  /// Waits until the handler has finished all reports that exist at the time of the call.
  func flush() async {
    let target = state.read { $0.accepted }
    // The wait is in a separate task, so that the caller's cancellation does not end it.
    _ = await Task { [state] in await state.wait { $0.handled >= target } }.value
  }

  private func handleAll() async {
    while let report = next() {
      await handler(report)
      state.change { $0.handled += 1 }
    }
  }

  private func next() -> TrustReport? {
    state.change { state in
      guard !state.waiting.isEmpty else {
        state.isHandling = false
        return nil
      }
      return state.waiting.removeFirst()
    }
  }
}
