// SPDX-License-Identifier: Apache-2.0

import Lastro

/// A machine that may be discarded while nothing depends on its state.
package protocol ForgettableMachine: Sendable {
  /// Returns whether nothing depends on the state at a time.
  func mayBeForgotten(now: Duration) -> Bool
}

/// A machine per key, up to a maximum. Further keys share one machine, so memory stays bounded for any number of hosts.
package struct KeyedMachines<Machine: ForgettableMachine>: Sendable {
  /// The place of a machine. An attempt ends in the place where it began, even if the key is removed meanwhile. It is
  /// an object so that the key is looked up once per attempt.
  ///
  /// Unchecked because every use of `machine` holds the lock around the owning `KeyedMachines`.
  package final class Place: @unchecked Sendable, Hashable {
    /// The key that the machine belongs to; `nil` if several keys share it.
    package let key: ResilienceKey?
    /// Whether the machine belongs to a single key.
    var isOwn: Bool { key != nil }
    fileprivate var machine: Machine

    fileprivate init(_ machine: Machine, key: ResilienceKey?) {
      self.machine = machine
      self.key = key
    }

    package static func == (lhs: Place, rhs: Place) -> Bool { lhs === rhs }

    package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
  }

  private var places: [ResilienceKey: Place] = [:]
  private let shared: Place
  private var lastSweep = Duration.zero
  private let maximumKeys: Int
  private var make: @Sendable () -> Machine

  var count: Int { places.count }

  /// Creates a set without machines.
  ///
  /// - Parameters:
  ///   - maximumKeys: the number of keys with a machine of their own. Default 10,000.
  ///   - make: makes a machine.
  package init(maximumKeys: Int = 10_000, _ make: @escaping @Sendable () -> Machine) {
    self.maximumKeys = maximumKeys
    self.make = make
    shared = Place(make(), key: nil)
  }

  /// Returns the place of a key; creates a machine if there is none.
  package mutating func place(of key: ResilienceKey, now: Duration) -> Place {
    if let known = places[key] { return known }
    sweep(now)
    guard places.count < maximumKeys else { return shared }
    let made = Place(make(), key: key)
    places[key] = made
    return made
  }

  /// The machine of a place.
  package subscript(place: Place) -> Machine {
    _read { yield place.machine }
    nonmutating _modify { yield &place.machine }
  }

  /// Changes all machines, and replaces the function that makes the machines of further keys.
  mutating func changeAll(
    making make: @escaping @Sendable () -> Machine, _ change: (inout Machine, Place) -> Void
  ) {
    self.make = make
    for place in places.values { change(&place.machine, place) }
    change(&shared.machine, shared)
  }

  /// Returns a part of a snapshot for each key.
  ///
  /// - Parameter values: returns the values of a machine; `nil` to leave its key out.
  func parts(
    of kind: String, _ values: (Machine) -> [String: StackSnapshot.Value]?
  ) -> [StackSnapshot.Part] {
    places.compactMap { key, place in
      values(place.machine).map { StackSnapshot.Part(kind: kind, subject: "\(key)", values: $0) }
    }
  }

  /// Returns the machine of a key; `nil` if there is none.
  func known(_ key: ResilienceKey) -> Machine? { places[key]?.machine }

  private mutating func sweep(_ now: Duration) {
    guard places.count >= min(16, maximumKeys), now - lastSweep >= .seconds(10) else { return }
    lastSweep = now
    places = places.filter { !$0.value.machine.mayBeForgotten(now: now) }
  }
}
