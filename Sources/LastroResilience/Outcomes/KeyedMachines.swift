// SPDX-License-Identifier: Apache-2.0

import Lastro

/// A machine that may be forgotten while nothing depends on what it knows.
protocol ForgettableMachine: Sendable {
  func mayBeForgotten(now: Duration) -> Bool
}

/// A machine for each key, at most so many: keys beyond share one, so that no number of hosts takes memory for ever.
struct KeyedMachines<Machine: ForgettableMachine>: Sendable {
  /// The place of a machine. What was begun with one ends with it, whatever becomes of the key. An object, so that the
  /// key is looked up once an attempt.
  ///
  /// Unchecked because the lock around the `KeyedMachines` that it is of is around every use of `machine`.
  final class Place: @unchecked Sendable, Hashable {
    /// Whether it is of one key alone.
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
  private let make: @Sendable () -> Machine

  var count: Int { places.count }

  init(maximumKeys: Int = 10_000, _ make: @escaping @Sendable () -> Machine) {
    self.maximumKeys = maximumKeys
    self.make = make
    shared = Place(make(), isOwn: false)
  }

  /// The place of a key, where a machine is made if there is none.
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

  /// The machine of a key; `nil` where nothing is known of it.
  func known(_ key: ResilienceKey) -> Machine? { places[key]?.machine }

  private mutating func sweep(_ now: Duration) {
    guard places.count >= min(16, maximumKeys), now - lastSweep >= .seconds(10) else { return }
    lastSweep = now
    places = places.filter { !$0.value.machine.mayBeForgotten(now: now) }
  }
}
