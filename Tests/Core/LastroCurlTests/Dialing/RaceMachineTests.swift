// SPDX-License-Identifier: Apache-2.0

import Lastro
import Testing

@testable import LastroCurl

extension RaceMachine.Step {
  fileprivate var word: String {
    switch self {
    case .dial(let address): "dial \(address)"
    case .close(let address): "close \(address)"
    case .noteDead(let address): "dead \(address)"
    case .noteAlive(let address): "alive \(address)"
    case .adopt(let address, let lead):
      "adopt \(address) after \(lead.lookUp / millisecond)+\(lead.attempt / millisecond)"
    case .end(let error, let hasTriedAll): "end \(error.stage)/\(error.code)\(hasTriedAll ? ", tried all" : "")"
    }
  }
}

private let millisecond: Int64 = 1_000_000

@Suite("Race of a name's addresses", .timeLimit(.minutes(15)))
struct RaceMachineTests {
  private static let late = TransportError(stage: .timeout, code: .connectTimeout, message: "late")
  private static let refused = TransportError(stage: .connect, code: .connectFailed, message: "refused")
  private static let untrusted = TransportError(stage: .trust, code: .untrustedCertificate, message: "untrusted")
  private static let denied = TransportError(stage: .policy, code: .egressDenied, message: "denied")

  /// A race with its time in milliseconds.
  private struct Race {
    var machine: RaceMachine
    var now: Int64 = 1_000

    init(limit: Int64? = 10_000, hidesAddresses: Bool = false, triesAllowedOfMixed: Bool = false) {
      let start = now * millisecond
      let terms = RaceMachine.Terms(
        host: "example.org", port: 443, lateness: late, expiresAt: limit.map { start + $0 * millisecond } ?? .max,
        hidesAddresses: hidesAddresses, triesAllowedOfMixed: triesAllowedOfMixed)
      machine = RaceMachine(terms, now: start)
    }

    private var time: Int64 { now * millisecond }

    mutating func resolved(_ addresses: [String], dead: Set<String> = []) -> [String] {
      machine.resolved(addresses, now: time) { dead.contains($0) }.map(\.word)
    }

    mutating func passed(_ milliseconds: Int64) -> [String] {
      now += milliseconds
      return machine.timePassed(now: time).map(\.word)
    }

    mutating func connected(_ address: String) -> [String] { machine.connected(address, now: time).map(\.word) }

    mutating func failed(_ address: String, _ error: TransportError) -> [RaceMachine.Step] {
      machine.failed(address, error, now: time)
    }
  }

  @Test("Attempts begin 250 ms apart, the first to connect is adopted, and slow attempts count as dead")
  func winner() {
    var race = Race()
    race.now += 20
    #expect(race.resolved(["1.1.1.1", "2.2.2.2", "3.3.3.3"]) == ["dial 1.1.1.1"])
    #expect(race.machine.due == (race.now + 250) * millisecond)
    #expect(race.passed(249) == [])
    #expect(race.passed(1) == ["dial 2.2.2.2"])
    #expect(race.passed(100) == [])
    #expect(
      race.connected("2.2.2.2") == ["alive 2.2.2.2", "dead 1.1.1.1", "close 1.1.1.1", "adopt 2.2.2.2 after 20+270"])
    #expect(race.machine.due == .max)
  }

  @Test("A failed attempt starts the next one at once, and the resolver learns that no address accepted a connection")
  func allRefused() {
    var race = Race()
    #expect(race.resolved(["1.1.1.1", "2.2.2.2"], dead: ["1.1.1.1"]) == ["dial 2.2.2.2"])
    #expect(race.failed("2.2.2.2", Self.refused).map(\.word) == ["dead 2.2.2.2", "dial 1.1.1.1"])
    let last = race.failed("1.1.1.1", Self.refused)
    #expect(last.map(\.word) == ["dead 1.1.1.1", "end connect/connect_failed, tried all"])
    guard case .end(let error, _)? = last.last else {
      Issue.record("the race goes on")
      return
    }
    #expect(error.message == "example.org:443 was reached at none of its addresses: 2.2.2.2: refused; 1.1.1.1: refused")
  }

  @Test("A refusal of trust is the result at once, because another address must not bypass it")
  func trust() {
    var race = Race()
    _ = race.resolved(["1.1.1.1", "2.2.2.2", "3.3.3.3"])
    _ = race.passed(250)
    #expect(race.failed("2.2.2.2", Self.untrusted).map(\.word) == ["close 1.1.1.1", "end trust/untrusted_certificate"])
  }

  @Test("A denied address ends the race, or leaves the others if the policy says so; errors then hide the addresses")
  func denial() {
    var strict = Race(hidesAddresses: true)
    _ = strict.resolved(["1.1.1.1", "2.2.2.2"])
    #expect(strict.failed("1.1.1.1", Self.denied).map(\.word) == ["end policy/egress_denied"])

    var mixed = Race(hidesAddresses: true, triesAllowedOfMixed: true)
    _ = mixed.resolved(["1.1.1.1", "2.2.2.2"])
    #expect(mixed.failed("1.1.1.1", Self.denied).map(\.word) == ["dial 2.2.2.2"])
    guard case .end(let error, let hasTriedAll)? = mixed.failed("2.2.2.2", Self.refused).last else {
      Issue.record("the race goes on")
      return
    }
    #expect(error.code == .connectFailed && !hasTriedAll)
    #expect(error.message.contains("address 1: denied; address 2: refused") && !error.message.contains("1.1.1.1"))
  }

  @Test("At the time limit, an address counts as dead only if its attempt had enough time")
  func limit() {
    var race = Race(limit: 400)
    _ = race.resolved(["1.1.1.1", "2.2.2.2"])
    #expect(race.passed(250) == ["dial 2.2.2.2"])
    #expect(race.machine.due == 1_400 * millisecond)
    #expect(race.passed(150) == ["dead 1.1.1.1", "close 1.1.1.1", "close 2.2.2.2", "end timeout/connect_timeout"])

    var asking = Race(limit: 400)
    asking.now += 400
    if case .end(let error, _)? = asking.machine.timePassed(now: asking.now * millisecond).last {
      #expect(error.message == "late, while the resolver looked the name up")
    } else {
      Issue.record("the race goes on")
    }
    #expect(asking.resolved(["1.1.1.1"]) == [], "an answer after the end starts nothing")
  }

  private enum Event: CaseIterable {
    case resolved, delay, oldestConnects, newestConnects, oldestRefused, newestUntrusted, limit, end
  }

  @Test("In all histories of five events, each attempt ends once, the race ends once, and nothing follows")
  func histories() {
    var histories: [[Event]] = [[]]
    var ends = (adopted: 0, failed: 0)
    for _ in 0..<5 { histories = histories.flatMap { history in Event.allCases.map { history + [$0] } } }
    for history in histories {
      var race = Race()
      var open: [String] = []
      var isOver = false
      for event in history {
        let (oldest, newest) = (open.first, open.last)
        var steps: [String] = []
        switch event {
        case .resolved: steps = race.resolved(["1.1.1.1", "a::1", "2.2.2.2"], dead: ["1.1.1.1"])
        case .delay: steps = race.passed(250)
        case .limit: steps = race.passed(10_000)
        case .oldestConnects: steps = race.connected(oldest ?? "9.9.9.9")
        case .newestConnects: steps = race.connected(newest ?? "9.9.9.9")
        case .oldestRefused:
          steps = race.failed(oldest ?? "9.9.9.9", Self.refused).map(\.word)
          open = Array(open.dropFirst())
        case .newestUntrusted:
          steps = race.failed(newest ?? "9.9.9.9", Self.untrusted).map(\.word)
          open = open.dropLast()
        case .end: steps = race.machine.end(.cancelled()).map(\.word)
        }
        #expect(!isOver || steps.isEmpty, "\(history)")
        for step in steps {
          #expect(!isOver, "a step after the last one: \(history)")
          let words = step.split(separator: " ").map(String.init)
          switch words[0] {
          case "dial": open.append(words[1])
          case "close", "adopt":
            #expect(open.contains(words[1]), "\(history)")
            open.removeAll { $0 == words[1] }
            ends.adopted += words[0] == "adopt" ? 1 : 0
          case "end": ends.failed += 1
          default: break
          }
          isOver = words[0] == "end" || words[0] == "adopt"
        }
        #expect(!isOver || open.isEmpty && race.machine.due == .max, "an attempt is left open: \(history)")
      }
    }
    #expect(ends.adopted > 1_000 && ends.failed > 1_000, "\(ends)")
  }
}
