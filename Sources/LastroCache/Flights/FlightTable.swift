// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroSupport

/// Which transfers are under way that others may wait for.
final class FlightTable: Sendable {
  /// What equal requests have in common.
  struct Key: Sendable, Hashable {
    var key: CacheKey
    var mode: CacheMode
    /// Whether the body is wanted in its coding, which `Vary` need not say.
    var leavesCoding: Bool
    var connection: ConnectionOptions?
  }

  enum Place: Sendable {
    /// The first: it is to carry out the transfer, and to land it.
    case leader(Flight)
    case follower(Flight)
    /// Answers to this key were not shareable of late: to wait for one only costs time.
    case alone
  }

  /// For how long a key counts as one whose answers are not shareable.
  private static let unshareableTime = Duration.seconds(60)
  /// More are not remembered.
  private static let maximumUnshareable = 1_000

  private struct State {
    var flights: [Key: Flight] = [:]
    var unshareable: [CacheKey: Duration] = [:]
    /// Number of flights that ended.
    var landings: UInt64 = 0
  }

  private let state = Lock(State())

  /// Changes whenever a flight ends: who read the store before may read it again.
  var landings: UInt64 { state.withLock { $0.landings } }

  var waiting: Int { state.withLock { $0.flights.values.reduce(0) { $0 + $1.waiting } } }

  func join(_ key: Key, now: Duration) -> Place {
    state.withLock { state in
      if let until = state.unshareable[key.key] {
        if now < until { return .alone }
        state.unshareable[key.key] = nil
      }
      if let flight = state.flights[key], flight.join() { return .follower(flight) }
      let flight = Flight()
      state.flights[key] = flight
      return .leader(flight)
    }
  }

  /// A URL has changed: who comes from now on joins none of its flights. `nil` for all.
  func leave(_ url: [UInt8]?) {
    state.withLock { state in
      state.flights = url.map { url in state.flights.filter { $0.key.key.url != url } } ?? [:]
    }
  }

  /// Ends a flight: who comes from now on does not join it.
  ///
  /// - Parameter isShareable: false where its answer told that waiting for the next one is of no use.
  func end(_ key: Key, _ flight: Flight, isShareable: Bool, now: Duration) {
    state.withLock { state in
      state.landings += 1
      if state.flights[key] === flight { state.flights[key] = nil }
      guard !isShareable else { return }
      if state.unshareable.count >= Self.maximumUnshareable {
        state.unshareable = state.unshareable.filter { $0.value > now }
        if state.unshareable.count >= Self.maximumUnshareable { state.unshareable = [:] }
      }
      state.unshareable[key.key] = now + Self.unshareableTime
    }
  }
}
