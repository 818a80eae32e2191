// SPDX-License-Identifier: Apache-2.0

import Lastro

/// A machine that may be discarded while nothing depends on its state.
protocol ForgettableMachine: Sendable {
  func mayBeForgotten(now: Duration) -> Bool
}

/// A machine per key, up to a maximum. Further keys share one machine, so memory stays bounded for any number of hosts.
struct KeyedMachines<Machine: ForgettableMachine>: Sendable {
  /// The place of a machine. An attempt ends in the place where it began, even if the key is removed meanwhile. It is
  /// an object so that the key is looked up once per attempt.
  ///
  /// Unchecked because every use of `machine` holds the lock around the owning `KeyedMachines`.
  final class Place: @unchecked Sendable, Hashable {
    /// Whether the machine belongs to a single key.
    let isOwn: Bool
    fileprivate var machine: Machine

    fileprivate init(_ machine: Machine, isOwn: Bool) {
      self.machine = machine
      self.isOwn = isOwn
    }

    static func == (lhs: Place, rhs: Place) -> Bool { lhs === rhs }

    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
  }

  private var places: [ResilienceKey: Place] = [:]
  private let shared: Place
  private var lastSweep = Duration.zero
  private let maximumKeys: Int
  private var make: @Sendable () -> Machine

  var count: Int { places.count }

  init(maximumKeys: Int = 10_000, _ make: @escaping @Sendable () -> Machine) {
    self.maximumKeys = maximumKeys
    self.make = make
    shared = Place(make(), isOwn: false)
  }

  /// Returns the place of a key; creates a machine if there is none.
  mutating func place(of key: ResilienceKey, now: Duration) -> Place {
    if let known = places[key] { return known }
    sweep(now)
    guard places.count < maximumKeys else { return shared }
    let made = Place(make(), isOwn: true)
    places[key] = made
    return made
  }

  subscript(place: Place) -> Machine {
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
