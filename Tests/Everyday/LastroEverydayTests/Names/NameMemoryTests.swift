// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import LastroEveryday

@Suite("Cache of resolved names")
struct NameMemoryTests {
  private typealias Memory = NameMemory<String, Int, String>

  private static func seconds(_ seconds: Double) -> Duration { .seconds(seconds) }

  /// Returns a step as text.
  private static func word(_ step: Memory.Step) -> String {
    switch step {
    case .answered(let answer): "answer \(answer)"
    case .refresh(let answer): "answer \(answer), look up"
    case .failed(let failure): failure
    case .wait: "wait"
    case .lookUp: "look up"
    }
  }

  @Test(
    "A time to live is clamped to its limits",
    arguments: [
      (0, false, 1), (0.5, false, 1), (30, false, 30), (9_000, false, 3_600), (nil, false, 60), (0, true, 1),
      (30, true, 30), (9_000, true, 60), (nil, true, 5),
    ] as [(Double?, Bool, Double)])
  func times(told: Double?, isAbsence: Bool, kept: Double) {
    var memory = Memory()
    #expect(Self.word(memory.ask("a", now: .zero)) == "look up")
    memory.note(1, of: "a", timeToLive: told.map(Self.seconds), isAbsence: isAbsence, now: .zero)
    // In the last tenth of its lifetime, an answer that is used is looked up again. The absence of an answer is not.
    let refreshFrom = Self.seconds(0.9 * kept)
    #expect(Self.word(memory.ask("a", now: refreshFrom - .milliseconds(1))) == "answer 1")
    let late = isAbsence ? "answer 1" : "answer 1, look up"
    #expect(Self.word(memory.ask("a", now: refreshFrom)) == late)
    memory.abandonLookUp(of: "a")
    #expect(Self.word(memory.ask("a", now: Self.seconds(kept - 0.001))) == late)
    memory.abandonLookUp(of: "a")
    #expect(Self.word(memory.ask("a", now: Self.seconds(kept))) == "look up")
  }

  @Test("If a lookup fails a stale answer serves for an hour, and the name is looked up again after 30 s")
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

  @Test("An early refresh is one lookup, which restarts the lifetime, or changes nothing if it fails")
  func refreshing() {
    var memory = Memory()
    _ = memory.ask("a", now: .zero)
    memory.note(1, of: "a", timeToLive: .seconds(10), isAbsence: false, now: .zero)
    #expect(Self.word(memory.ask("a", now: .seconds(9))) == "answer 1, look up")
    #expect(Self.word(memory.ask("a", now: .seconds(9))) == "answer 1")
    memory.note(2, of: "a", timeToLive: .seconds(10), isAbsence: false, now: Self.seconds(9.5))
    #expect(Self.word(memory.ask("a", now: .seconds(18))) == "answer 2")
    #expect(Self.word(memory.ask("a", now: Self.seconds(18.5))) == "answer 2, look up")
    #expect(memory.note("down", of: "a", now: .seconds(19)) == 2)
    // After a failed refresh, the name is not looked up again before the answer expires. An expired answer is not used
    // without another look-up.
    #expect(Self.word(memory.ask("a", now: Self.seconds(19.4))) == "answer 2")
    #expect(Self.word(memory.ask("a", now: Self.seconds(19.5))) == "look up")
    #expect(memory.note("down", of: "a", now: .seconds(20)) == 2)
    // A stale answer is not looked up early.
    #expect(Self.word(memory.ask("a", now: .seconds(49))) == "answer 2")
    // A look-up that is still under way when the answer expires is waited for.
    memory.forget("a")
    _ = memory.ask("a", now: .seconds(50))
    memory.note(3, of: "a", timeToLive: .seconds(10), isAbsence: false, now: .seconds(50))
    _ = memory.ask("a", now: .seconds(59))
    #expect(Self.word(memory.ask("a", now: .seconds(60))) == "wait")
  }

  @Test("An expired absence does not serve after a failed lookup")
  func absence() {
    var memory = Memory()
    _ = memory.ask("a", now: .zero)
    memory.note(0, of: "a", timeToLive: nil, isAbsence: true, now: .zero)
    _ = memory.ask("a", now: .seconds(6))
    #expect(memory.note("down", of: "a", now: .seconds(6)) == nil)
  }

  private enum Event: CaseIterable { case ask, answer, absence, fail, giveUp, forget, almost, later }

  @Test("In any order of events one lookup runs at a time, and the last result is reported")
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
          var step = Self.word(memory.ask("a", now: now))
          if step == "answer 1, look up" {
            #expect(known == "answer 1" && !isUnderWay, "\(history)")
            (step, isUnderWay) = ("answer 1", true)
          }
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
          memory.abandonLookUp(of: "a")
          isUnderWay = false
        case .forget:
          memory.forget("a")
          known = nil
        case .almost: now += .milliseconds(9_500)
        case .later: now += .seconds(20)
        }
        #expect(memory.count <= 1)
      }
    }
  }

  @Test("4,096 names are cached, and those that expire first are evicted")
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
