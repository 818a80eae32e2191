// SPDX-License-Identifier: Apache-2.0

import Lastro
import TestSupport
import Testing

@testable import LastroResilience

/// A simple model of a limiter that ignores cost: it lists the waiting requests in the order in which they came.
private struct LimiterModel {
  var limit: Double
  let adapts: Bool
  var out = 0
  var queue: [(ticket: UInt64, came: Int)] = []
  var tickets: UInt64 = 0
  var lastCut = -1

  enum Answer: Equatable { case admitted, queued(UInt64), refused }

  mutating func ask(_ now: Int) -> Answer {
    if queue.isEmpty, out < Int(limit) {
      out += 1
      return .admitted
    }
    if queue.count == 4 { return .refused }
    tickets += 1
    queue.append((tickets, now))
    return .queued(tickets)
  }

  mutating func end(began: Int, inUse: Int, _ load: LoadSample, _ now: Int) -> [UInt64] {
    out -= 1
    if adapts { learn(began, inUse, load, now) }
    var admitted: [UInt64] = []
    while out < Int(limit), let head = queue.first {
      admitted.append((now - head.came > 100 ? queue.removeLast() : queue.removeFirst()).ticket)
      out += 1
    }
    return admitted
  }

  private mutating func learn(_ began: Int, _ inUse: Int, _ load: LoadSample, _ now: Int) {
    if load == .dropped || load == .measured && now - began > 5_000 {
      guard began >= lastCut else { return }
      lastCut = now
      limit = (limit * 0.9).rounded(.down)
    } else if load == .measured, Double(inUse) >= limit / 2 {
      limit += lastCut == -1 ? 1 : 1 / limit
    }
    limit = min(8, max(1, limit))
  }
}

@Suite("Limiter against a model", .ownThread)
struct LimiterModelTests {
  @Test("In 10,000 random histories the limiter behaves like its model, and every permit is returned")
  func histories() throws {
    let seen = try Histories.play { seed, random in
      let adapts = seed % 2 == 0
      var machine = LimiterMachine(adapts ? .aimd(initial: 4, range: 1...8, backoff: 0.9) : .fixed(3), capacity: 4)
      var model = LimiterModel(limit: adapts ? 4 : 3, adapts: adapts)
      var out: [(grant: LimiterMachine.Grant, began: Int, inUse: Int)] = []
      var waiting: [UInt64] = []
      var steps: [String] = []
      var now = 0
      func differ(_ what: String) -> Histories.Difference { .init(seed: seed, what: "\(what) at \(now)") }
      func end(_ load: LoadSample) throws {
        let ended = out.remove(at: random.roll(out.count))
        let admitted = machine.end(ended.grant, load, now: .milliseconds(now))
        let expected = model.end(began: ended.began, inUse: ended.inUse, load, now)
        guard admitted.map(\.ticket) == expected else { throw differ("\(admitted) let in, not \(expected)") }
        for (index, (ticket, grant)) in admitted.enumerated() {
          waiting.removeAll { $0 == ticket }
          out.append((grant, now, model.out - expected.count + index + 1))
          steps.append("let in")
        }
      }
      for _ in 0..<60 {
        now += random.roll(20) == 0 ? random.roll(8_000) : random.roll(90)
        switch random.roll(5) {
        case 0, 1:
          let expected = model.ask(now)
          switch machine.ask(now: .milliseconds(now), left: nil) {
          case .admitted(let grant):
            guard expected == .admitted else { throw differ("admitted") }
            out.append((grant, now, model.out))
          case .queued(let ticket):
            guard expected == .queued(ticket) else { throw differ("queued") }
            waiting.append(ticket)
          case .refused:
            guard expected == .refused else { throw differ("refused") }
            steps.append("refused")
          }
        case 2, 3: if !out.isEmpty { try end(LoadSample.allCases[random.roll(3)]) }
        default:
          guard !waiting.isEmpty else { continue }
          let ticket = waiting.remove(at: random.roll(waiting.count))
          guard machine.leave(ticket) else { throw differ("gone") }
          model.queue.removeAll { $0.ticket == ticket }
          steps.append("left")
        }
        guard machine.inUse == model.out, machine.inUse == out.count, machine.waitingCount == model.queue.count,
          machine.limit.exact == model.limit
        else { throw differ("\(machine.limit.exact) \(machine.inUse), not \(model.limit) \(model.out)") }
      }
      while !out.isEmpty { try end(.ignored) }
      guard machine.inUse == 0, machine.waitingCount == 0 else { throw differ("a permit is out") }
      return steps
    }
    for step in ["let in", "left", "refused"] { #expect(seen[step, default: 0] > 1_000, "\(step)") }
  }
}
