// SPDX-License-Identifier: Apache-2.0

import Lastro

/// A machine that may be forgotten while nothing depends on what it knows.
protocol ForgettableMachine {
  func mayBeForgotten(now: Duration) -> Bool
}

/// A machine for each key, at most so many: keys beyond share one, so that no number of hosts takes memory for ever.
struct KeyedMachines<Machine: ForgettableMachine> {
  /// Where the machine of a key is. What was begun with one ends with it, whatever becomes of the key.
  enum Place: Hashable {
    case own(ResilienceKey)
    case shared
  }

  private var machines: [ResilienceKey: Machine] = [:]
  private var shared: Machine
  private var lastSweep = Duration.zero
  private let maximumKeys: Int
  private let make: @Sendable () -> Machine

  var count: Int { machines.count }

  init(maximumKeys: Int = 10_000, _ make: @escaping @Sendable () -> Machine) {
    self.maximumKeys = maximumKeys
    self.make = make
    shared = make()
  }

  /// The place of a key, where a machine is made if there is none.
  mutating func place(of key: ResilienceKey, now: Duration) -> Place {
    if machines[key] != nil { return .own(key) }
    sweep(now)
    guard machines.count < maximumKeys else { return .shared }
    machines[key] = make()
    return .own(key)
  }

  subscript(place: Place) -> Machine {
    get {
      guard case .own(let key) = place else { return shared }
      return machines[key] ?? make()
    }
    _modify {
      if case .own(let key) = place {
        let make = make
        yield &machines[key, default: make()]
      } else {
        yield &shared
      }
    }
  }

  /// The machine of a key; `nil` where nothing is known of it.
  func known(_ key: ResilienceKey) -> Machine? { machines[key] }

  private mutating func sweep(_ now: Duration) {
    guard machines.count >= min(16, maximumKeys), now - lastSweep >= .seconds(10) else { return }
    lastSweep = now
    machines = machines.filter { !$0.value.mayBeForgotten(now: now) }
  }
}
