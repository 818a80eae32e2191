// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroSupport

/// The transfers in progress that other requests may wait for.
final class FlightTable: Sendable {
  /// The properties that equal requests have in common.
  struct Key: Sendable, Hashable {
    var key: CacheKey
    var mode: CacheMode
    /// Whether the body is wanted in its content coding, which `Vary` need not mention.
    var leavesCoding: Bool
    var connection: ConnectionOptions?
  }

  enum Place: Sendable {
    /// The first request for the key: it must run the transfer and land the flight.
    case leader(Flight)
    case follower(Flight)
    /// Recent responses for this key could not be shared, so waiting for one only costs time.
    case alone
  }

  /// The time for which a key is remembered as unshareable.
  private static let unshareableTime = Duration.seconds(60)
  /// The maximum number of unshareable keys to remember.
  private static let maximumUnshareable = 1_000

  private struct State {
    var flights: [Key: Flight] = [:]
    var unshareable: [CacheKey: Duration] = [:]
    /// The number of flights that have ended.
    var landings: UInt64 = 0
  }

  private let state = Lock(State())

  /// A counter that changes whenever a flight ends: a request that read the store earlier may read it again.
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

  /// Removes the flights of a URL that has changed, so that later requests do not join them. `nil` removes all flights.
  func leave(_ url: [UInt8]?) {
    state.withLock { state in
      state.flights = url.map { url in state.flights.filter { $0.key.key.url != url } } ?? [:]
    }
  }

  /// Ends a flight, so that later requests do not join it.
  ///
  /// - Parameter isShareable: false if the response shows that waiting for the next one is useless.
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
