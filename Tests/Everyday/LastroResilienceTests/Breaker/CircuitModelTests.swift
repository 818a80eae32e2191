// SPDX-License-Identifier: Apache-2.0

import Lastro
import TestSupport
import Testing

@testable import LastroResilience

/// Ten thousand random histories, each with its own seed, in which a machine is compared with a model of it; fewer by
/// ``SeedStride``.
enum Histories {
  static let count = 10_000

  /// A history in which machine and model differ.
  struct Difference: Error {
    let seed: Int
    let what: String
  }

  /// Plays the histories, and counts their steps by kind.
  ///
  /// - Parameter play: plays one history, and returns the kind of each step that occurred.
  /// - Returns: the number of steps of each kind in all histories, scaled up to ten thousand if fewer were played.
  static func play(_ play: (_ seed: Int, _ random: RandomSource) throws -> [String]) rethrows -> [String: Int] {
    var seen: [String: Int] = [:]
    for seed in 0..<count / SeedStride.value {
      for step in try play(seed, .seeded(UInt64(seed))) { seen[step, default: 0] += SeedStride.value }
    }
    return seen
  }
}

extension RandomSource {
  func roll(_ sides: Int) -> Int { Int(next() % UInt64(sides)) }
}

/// A simple model of a circuit that ignores cost: every outcome is kept, and every permit has a name.
private struct CircuitModel {
  enum Mode: Equatable { case closed, open(until: Int), trying }

  /// The window in milliseconds, like all times here.
  static let window = 10_000
  static let length = 2_000

  var mode = Mode.closed
  /// The permits of the current mode that are in use.
  var out: Set<Int> = []
  var successes = 0
  var lastIssue = 0
  var openedAt = 0
  var ends: [(time: Int, failed: Bool)] = []
  var names = 0
  /// The numbers of breaks caused by consecutive failures alone, and of breaks longer than the shortest.
  var (rowBreaks, longBreaks) = (0, 0)

  mutating func change(_ mode: Mode) { (self.mode, out, successes) = (mode, [], 0) }

  /// Returns the name of a permit, or `nil` if none is available.
  mutating func ask(_ now: Int) -> Int? {
    if case .open(let until) = mode {
      guard now >= until else { return nil }
      change(.trying)
    }
    if mode == .trying, out.count + successes == 2, now - lastIssue >= Self.length { change(.trying) }
    if mode == .trying {
      guard out.count + successes < 2 else { return nil }
      lastIssue = now
    }
    names += 1
    out.insert(names)
    return names
  }

  mutating func end(_ name: Int, _ verdict: AttemptVerdict, _ now: Int) {
    guard out.remove(name) != nil, verdict != .ignored else { return }
    switch mode {
    case .open: break
    case .closed:
      ends.append((now, verdict == .failure))
      let counted = ends.filter { $0.time / 1_000 > now / 1_000 - 10 }
      let failures = counted.count { $0.failed }
      let row = ends.reversed().prefix { $0.failed }
      let isRow = row.count >= 3 && now - (row.last?.time ?? now) >= 1_000
      if verdict == .failure, counted.count >= 4, 4 * failures >= 3 * counted.count || isRow {
        if 4 * failures < 3 * counted.count { rowBreaks += 1 }
        openedAt = now
        change(.open(until: now + Self.length))
      }
    case .trying:
      if verdict == .failure {
        if now - openedAt > 20 * Self.length { longBreaks += 1 }
        change(.open(until: now + min(60_000, max(Self.length, (now - openedAt) / 20))))
        return
      }
      successes += 1
      if successes == 2 {
        ends = []
        change(.closed)
      }
    }
  }
}

@Suite("Circuit breaker against a model", .ownThread)
struct CircuitModelTests {
  private static func word(_ machine: CircuitMachine) -> String {
    switch machine.phase {
    case .closed: "closed"
    case .open(let until): "open \(Int((until / .milliseconds(1)).rounded()))"
    case .halfOpen(let issued, let successes, _): "trying \(issued - successes) \(successes)"
    }
  }

  private static func word(_ model: CircuitModel) -> String {
    switch model.mode {
    case .closed: "closed"
    case .open(let until): "open \(until)"
    case .trying: "trying \(model.out.count) \(model.successes)"
    }
  }

  @Test("In 10,000 random histories the circuit behaves like its model, and every permit is returned")
  func histories() throws {
    let policy = CircuitBreakerPolicy(
      window: .time(.seconds(10)), minimumCalls: 4, failureRatio: 0.75, consecutiveFailures: 3,
      breakDuration: .seconds(2), probes: 2)
    let seen = try Histories.play { seed, random in
      var (machine, model) = (CircuitMachine(policy), CircuitModel())
      var out: [(generation: UInt64, name: Int)] = []
      var steps: [String] = []
      var now = 0
      // In one half of the histories failures prevail, in the other half successes.
      let verdicts: [AttemptVerdict] = [.success, .failure, .ignored] + (seed % 2 == 0 ? [.failure] : [.success])
      for _ in 0..<60 {
        // Times are multiples of 20, so that a twentieth is a whole number.
        now += 20 * (random.roll(3) == 0 ? random.roll(450) : random.roll(30))
        let before = Self.word(model).prefix { $0 != " " }
        if out.isEmpty || random.roll(2) == 0 {
          let name = model.ask(now)
          switch machine.ask(now: .milliseconds(now)) {
          case .admitted(let generation):
            guard let name else { throw Histories.Difference(seed: seed, what: "admitted at \(now)") }
            out.append((generation, name))
          case .refused:
            guard name == nil else { throw Histories.Difference(seed: seed, what: "refused at \(now)") }
            steps.append("refused")
          }
        } else {
          let ended = out.remove(at: random.roll(out.count))
          let verdict = verdicts[random.roll(verdicts.count)]
          if !model.out.contains(ended.name) { steps.append("straggler") }
          model.end(ended.name, verdict, now)
          // With a unit of one half, a break has exactly the configured length.
          machine.end(ended.generation, verdict, duration: .zero, now: .milliseconds(now), unit: 0.5)
        }
        guard Self.word(machine) == Self.word(model) else {
          throw Histories.Difference(seed: seed, what: "\(Self.word(machine)), not \(Self.word(model))")
        }
        let after = Self.word(model).prefix { $0 != " " }
        if before != after { steps.append("\(before) to \(after)") }
      }
      steps += Array(repeating: "row", count: model.rowBreaks) + Array(repeating: "long", count: model.longBreaks)
      return steps
    }
    for step in ["row", "long"] { #expect(seen[step, default: 0] > 100, "\(step) \(seen)") }
    for step in ["refused", "straggler", "closed to open", "open to trying", "trying to open", "trying to closed"] {
      #expect(seen[step, default: 0] > 1_000, "\(step)")
    }
  }
}
