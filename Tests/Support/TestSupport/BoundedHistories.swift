// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A machine and its surroundings, whose histories are explored up to a bound.
package protocol BoundedWorld {
  associatedtype Choice
  associatedtype State: Hashable

  /// The events that may happen next, in a fixed order.
  var choices: [Choice] { get }
  /// All facts on which the effect of later events depends. Histories with equal states are continued once.
  var state: State { get }
  /// The properties that were broken, by their names, each with a detail.
  var broken: [String] { get }

  /// Lets an event happen, with all its consequences.
  mutating func apply(_ choice: Choice)
  /// Lets everything happen that is due without a further event, and checks the properties of the end.
  mutating func finish()
}

/// The exploration of all histories of a world up to a number of events.
///
/// It goes by length, so that a broken property is reported with a shortest history that breaks it.
package struct BoundedHistories {
  /// The maximum number of events of a history.
  package let bound: Int
  /// The number of histories that were run: the shortest history of each state, followed by each possible event.
  package private(set) var histories = 0
  /// The number of distinct states that were reached.
  package private(set) var states = 0
  /// The broken properties, with the shortest history that breaks them; `nil` if there are none.
  package private(set) var failure: String?

  /// Explores the histories of a world.
  ///
  /// - Parameters:
  ///   - bound: the maximum number of events.
  ///   - isValue: whether a copy of the world is independent of it. If not, each history is replayed from its
  ///     beginning.
  ///   - make: makes the world at its beginning.
  package init<World: BoundedWorld>(bound: Int, isValue: Bool, _ make: () -> World) {
    self.bound = bound
    func replay(_ path: [World.Choice]) -> World {
      var world = make()
      for choice in path { world.apply(choice) }
      return world
    }
    let start = make()
    var reached: Set<World.State> = [start.state]
    var frontier: [(path: [World.Choice], world: World?)] = [([], isValue ? start : nil)]
    for _ in 0..<bound {
      var next: [(path: [World.Choice], world: World?)] = []
      for (path, kept) in frontier {
        let before = kept ?? replay(path)
        for (index, choice) in before.choices.enumerated() {
          // The world that offered the choices is as good as a replayed one for the first of them.
          var world = kept ?? (index == 0 ? before : replay(path))
          world.apply(choice)
          histories += 1
          let path = path + [choice]
          if report(world, path) { return }
          guard reached.insert(world.state).inserted else { continue }
          next.append((path, isValue ? world : nil))
          world.finish()
          if report(world, path) { return }
        }
      }
      states = reached.count
      frontier = next
    }
  }

  /// Records the properties that a world broke, and returns whether there are any.
  private mutating func report<World: BoundedWorld>(_ world: World, _ path: [World.Choice]) -> Bool {
    if world.broken.isEmpty { return false }
    let history = path.map { "\($0)" }.joined(separator: ", ")
    failure = "\(world.broken.joined(separator: "; ")) after: \(history)"
    return true
  }

  /// Returns whether the failure is that of a property.
  package func breaks(_ property: some RawRepresentable<String>) -> Bool {
    failure?.hasPrefix(property.rawValue) ?? false
  }

  /// Prints the numbers of an exploration.
  package func print(_ machine: String) {
    Swift.print("histories of \(machine): up to \(bound) events, \(histories) histories, \(states) states")
  }

  /// The number of events by which every bound is raised: `MACHINE_DEPTH`. Default 0.
  package static let extra = max(
    0, ProcessInfo.processInfo.environment["MACHINE_DEPTH"].flatMap { Int($0) } ?? 0)
}
