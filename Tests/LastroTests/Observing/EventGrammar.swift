// SPDX-License-Identifier: Apache-2.0

import LastroSupport

@testable import Lastro

/// The order of events that `FetchObserver` promises, as a machine: it takes events of any number of calls, and keeps what
/// breaks the promise.
final class EventGrammar: FetchObserver {
  fileprivate enum Place: Equatable {
    case callStarted
    case inAttempt(hops: Int)
    case inTransfer(hop: Int)
    case betweenAttempts
    case retryScheduled
    case callEnded(awaitsBody: Bool)
    case bodyEnded
  }

  fileprivate struct Call {
    var place = Place.callStarted
    var attempts = 0
    var time: Duration
    var isStream: Bool
    var succeeded = false
  }

  private struct State {
    var calls: [UInt64: Call] = [:]
    var violations: [String] = []
    var events: [String: Int] = [:]
  }

  private let state = Lock(State())
  private let hook: @Sendable (FetchEvent, _ index: Int) -> Void

  init(hook: @escaping @Sendable (FetchEvent, _ index: Int) -> Void = { _, _ in }) { self.hook = hook }

  /// What broke the promise.
  var violations: [String] { state.withLock { $0.violations } }
  /// How often there was an event of each kind.
  var events: [String: Int] { state.withLock { $0.events } }
  /// Calls that have not come to their end.
  var openCalls: [UInt64] {
    state.withLock { state in
      state.calls.filter { ![.bodyEnded, .callEnded(awaitsBody: false)].contains($0.value.place) }.map(\.key)
    }
  }

  func observe(_ event: FetchEvent) {
    let index = state.withLock { state -> Int in
      state.events[event.name, default: 0] += 1
      if case .callStarted = event.kind {
        if state.calls[event.callID] != nil { state.violations.append("call \(event.callID) started twice") }
        state.calls[event.callID] = Call(time: event.time, isStream: event.isStream)
        if event.attempt != 0 { state.violations.append("a call starts in attempt \(event.attempt)") }
      } else if var call = state.calls[event.callID] {
        let place = call.place
        if let problem = call.take(event) {
          state.violations.append("call \(event.callID): \(event.name) at \(place): \(problem)")
        }
        state.calls[event.callID] = call
      } else {
        state.violations.append("\(event.name) of a call that has not started")
      }
      return state.events.values.reduce(0, +)
    }
    hook(event, index)
  }
}

extension EventGrammar.Call {
  /// What is wrong about an event here; `nil` when it is right.
  fileprivate mutating func take(_ event: FetchEvent) -> String? {
    if event.time < time { return "time goes back" }
    time = event.time
    if event.isStream != isStream { return "it is a stream, or is not" }
    switch (place, event.kind) {
    case (.callStarted, .attemptStarted(let number)), (.retryScheduled, .attemptStarted(let number)):
      attempts += 1
      place = .inAttempt(hops: 0)
      return number == attempts && event.attempt == number ? nil : "number \(number), attempt \(event.attempt)"
    case (.inAttempt(let hops), .transferStarted):
      place = .inTransfer(hop: event.hop)
      return event.hop == hops && event.attempt == attempts ? nil : "hop \(event.hop) after \(hops)"
    case (.inTransfer(let hop), .transferEnded):
      place = .inAttempt(hops: hop + 1)
      return event.hop == hop && event.attempt == attempts ? nil : "of another hop or attempt"
    case (.inAttempt, .attemptEnded(let attempt)):
      place = .betweenAttempts
      succeeded = attempt.outcome == .succeeded
      return attempt.number == attempts && event.attempt == attempts ? nil : "of another attempt: \(event.attempt)"
    case (.betweenAttempts, .retryScheduled):
      place = .retryScheduled
      return succeeded ? "of a success" : event.attempt == attempts ? nil : "of another attempt"
    case (.betweenAttempts, .callEnded(let result)), (.retryScheduled, .callEnded(let result)):
      return end(result, event)
    case (.callEnded(true), .bodyEnded):
      place = .bodyEnded
      return event.attempt == attempts ? nil : "of another attempt"
    default: return "out of place"
    }
  }

  private mutating func end(
    _ result: Result<ResourceResponse, HTTPFetchError<any Error>>, _ event: FetchEvent
  ) -> String? {
    let wasScheduled = place == .retryScheduled
    switch result {
    case .success(let response):
      place = .callEnded(awaitsBody: isStream)
      guard succeeded, !wasScheduled else { return "without a success" }
      return response.attempts.count == attempts && event.attempt == attempts ? nil : "with another count of attempts"
    case .failure(let error):
      place = .callEnded(awaitsBody: false)
      if succeeded || wasScheduled, !error.isCancelled { return "with \(error) after a success, or during a wait" }
      return error.attempts.count == attempts && event.attempt == attempts ? nil : "with another count of attempts"
    }
  }
}

extension FetchEvent {
  /// The word of its kind.
  var name: String {
    switch kind {
    case .callStarted: "callStarted"
    case .attemptStarted: "attemptStarted"
    case .transferStarted: "transferStarted"
    case .transferEnded: "transferEnded"
    case .attemptEnded: "attemptEnded"
    case .retryScheduled: "retryScheduled"
    case .callEnded: "callEnded"
    case .bodyEnded: "bodyEnded"
    @unknown default: "unknown"
    }
  }
}
