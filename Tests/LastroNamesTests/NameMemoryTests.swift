// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import LastroNames

@Suite("What is kept of names")
struct NameMemoryTests {
  private typealias Memory = NameMemory<String, Int, String>

  private static func seconds(_ seconds: Double) -> Duration { .seconds(seconds) }

  /// A step in a word.
  private static func word(_ step: Memory.Step) -> String {
    switch step {
    case .answered(let answer): "answer \(answer)"
    case .failed(let failure): failure
    case .wait: "wait"
    case .lookUp: "look up"
    }
  }

  @Test(
    "a time to live is kept to its limits",
    arguments: [
      (0, false, 1), (0.5, false, 1), (30, false, 30), (9_000, false, 3_600), (nil, false, 60), (0, true, 1),
      (30, true, 30), (9_000, true, 60), (nil, true, 5),
    ] as [(Double?, Bool, Double)])
  func times(told: Double?, isAbsence: Bool, kept: Double) {
    var memory = Memory()
    #expect(Self.word(memory.ask("a", now: .zero)) == "look up")
    memory.note(1, of: "a", timeToLive: told.map(Self.seconds), isAbsence: isAbsence, now: .zero)
    #expect(Self.word(memory.ask("a", now: Self.seconds(kept - 0.001))) == "answer 1")
    #expect(Self.word(memory.ask("a", now: Self.seconds(kept))) == "look up")
  }

  @Test("a stale answer serves where a look-up fails, for an hour, and the name is looked up again after 30 s")
  func stale() {
    var memory = Memory()
    _ = memory.ask("a", now: .zero)
    memory.note(1, of: "a", timeToLive: .seconds(10), isAbsence: false, now: .zero)
    var now = 10.0
    while now < 3_610 {
      #expect(Self.word(memory.ask("a", now: Self.seconds(now))) == "look up", "\(now)")
      #expect(memory.note("down", of: "a", now: Self.seconds(now)) == 1)
      #expect(Self.word(memory.ask("a", now: Self.seconds(min(now + 30, 3_610) - 0.001))) == "answer 1")
      now += 30
    }
    #expect(Self.word(memory.ask("a", now: Self.seconds(now))) == "look up")
    #expect(memory.note("down", of: "a", now: Self.seconds(now)) == nil)
    #expect(Self.word(memory.ask("a", now: Self.seconds(now + 0.999))) == "down")
    #expect(Self.word(memory.ask("a", now: Self.seconds(now + 1))) == "look up")
  }

  @Test("that a name has none is not used any longer than it holds")
  func absence() {
    var memory = Memory()
    _ = memory.ask("a", now: .zero)
    memory.note(0, of: "a", timeToLive: nil, isAbsence: true, now: .zero)
    _ = memory.ask("a", now: .seconds(6))
    #expect(memory.note("down", of: "a", now: .seconds(6)) == nil)
  }

  private enum Event: CaseIterable { case ask, answer, absence, fail, giveUp, forget, later }

  @Test("whatever happens, in any order: one look-up at a time, and what is told is what came last")
  func everyHistory() {
    var histories: [[Event]] = [[]]
    for _ in 0..<6 { histories = histories.flatMap { history in Event.allCases.map { history + [$0] } } }
    for history in histories {
      var memory = Memory()
      var now = Duration.zero
      var isUnderWay = false
      var known: String?
      for event in history {
        switch event {
        case .ask:
          let step = Self.word(memory.ask("a", now: now))
          if let known { #expect(step == known || step == (isUnderWay ? "wait" : "look up"), "\(history)") }
          if known == nil { #expect(step == (isUnderWay ? "wait" : "look up"), "\(history)") }
          isUnderWay = isUnderWay || step == "look up"
        case .answer, .absence:
          memory.note(1, of: "a", timeToLive: .seconds(10), isAbsence: event == .absence, now: now)
          if isUnderWay { known = "answer 1" }
          isUnderWay = false
        case .fail:
          let stale = memory.note("down", of: "a", now: now)
          #expect(stale == nil || known == "answer 1" && isUnderWay)
          if isUnderWay, stale == nil { known = "down" }
          isUnderWay = false
        case .giveUp:
          memory.noteGivenUp("a")
          isUnderWay = false
        case .forget:
          memory.forget("a")
          known = nil
        case .later: now += .seconds(20)
        }
        #expect(memory.count <= 1)
      }
    }
  }

  @Test("4,096 names are kept; those that end first give way")
  func bounds() {
    var memory = Memory()
    for index in 0..<10_000 {
      _ = memory.ask("n\(index)", now: .zero)
      memory.note(index, of: "n\(index)", timeToLive: .seconds(100 + index), isAbsence: false, now: .zero)
      #expect(memory.count <= Memory.most)
    }
    #expect(Self.word(memory.ask("n9999", now: .zero)) == "answer 9999")
    #expect(Self.word(memory.ask("n0", now: .zero)) == "look up")
    memory.forgetAll()
    #expect(memory.count == 0)
  }
}
