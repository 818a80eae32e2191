// SPDX-License-Identifier: Apache-2.0

internal import LastroSupport

/// The time of a call that is replayed.
///
/// An unchanged call gets the recorded times, in the order in which it asks for them. A changed call has a virtual clock,
/// which its waits and transfers advance.
package final class ReplayClock: Sendable {
  private struct State {
    /// The recorded times before each event of the pipeline.
    var segments: [[Int64]]
    var segment = 0
    var index = 0
    var latest: Int64
  }

  /// Whether times are virtual.
  package let isVirtual: Bool
  private let epoch: Int64
  private let state: Lock<State>

  init(_ trace: CallTrace, isVirtual: Bool) {
    self.isVirtual = isVirtual
    epoch = trace.head.epoch
    let names: Set<TraceEvent.Name> = [
      .callStarted, .attemptStarted, .transferStarted, .transferEnded, .attemptEnded, .retryScheduled, .callEnded,
      .bodyEnded,
    ]
    let segments = trace.events.filter { names.contains($0.event) }.map { $0.clock ?? [] }
    state = Lock(State(segments: segments, latest: segments.first?.first ?? 0))
  }

  private func now() -> Int64 {
    state.withLock { state in
      guard !isVirtual, state.segment < state.segments.count,
        state.index < state.segments[state.segment].count
      else { return state.latest }
      state.latest = state.segments[state.segment][state.index]
      state.index += 1
      return state.latest
    }
  }

  /// Continues with the times after an event of the pipeline.
  func passEvent() {
    state.withLock { state in
      if !isVirtual, state.segment < state.segments.count, let last = state.segments[state.segment].last {
        state.latest = last
      }
      state.segment += 1
      state.index = 0
    }
  }

  /// Advances a virtual clock.
  package func advance(by duration: Duration) {
    guard isVirtual else { return }
    state.withLock { $0.latest += max(0, duration.wholeNanoseconds) }
  }

  /// The source of time for the pipeline.
  ///
  /// - Parameter wait: performs the wait before a retry.
  func source(wait: @escaping @Sendable (Duration) throws -> Void) -> TimeSource {
    TimeSource(
      now: { .nanoseconds(self.now()) },
      sleep: { duration in
        try wait(duration)
        self.advance(by: duration)
      },
      // No limit of a hook passes, because the hooks of a replay return at once.
      limit: { _ in try await Task.sleep(for: .seconds(1 << 30)) },
      sinceEpoch: { .nanoseconds(self.epoch + self.state.withLock { $0.latest }) })
  }
}
