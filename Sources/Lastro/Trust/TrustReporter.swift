// SPDX-License-Identifier: Apache-2.0

internal import LastroSupport

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// Hands reports to a handler: identical ones once an interval, one at a time, off the thread that judges.
final class TrustReporter: Sendable {
  /// What makes failures identical. Keys, not certificates: a renewed certificate with the same key is the same
  /// failure.
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
    /// Reports lost for want of room.
    var dropped: UInt64 = 0
    /// Reports that were put into ``waiting``, and those that the handler is done with.
    var accepted: UInt64 = 0
    var handled: UInt64 = 0

    mutating func remember(_ memory: Memory?, of identity: Identity) {
      known[identity] = memory
      guard known.count > maximumRemembered else { return }
      // Rare, and over a few hundred.
      if let oldest = known.min(by: { $0.value.reported < $1.value.reported })?.key { known[oldest] = nil }
    }
  }

  /// Failures remembered; beyond, the oldest are forgotten, and reported anew should they come again.
  static let maximumRemembered = 256
  /// Reports that wait for the handler; beyond, they are suppressed.
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
        // A failure that was not reported for want of room is not held back for the interval.
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
    // Detached: neither the priority nor the task-local values of the task that happened to fetch may reach the
    // handler.
    if mustStart { Task.detached { await self.handleAll() } }
  }

  /// Reports lost for want of room.
  var dropped: UInt64 { state.read { $0.dropped } }

  /// Returns once the handler is done with all reports that there are now.
  func flush() async {
    let target = state.read { $0.accepted }
    // In a task of its own: the cancellation of the caller does not end the wait.
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
