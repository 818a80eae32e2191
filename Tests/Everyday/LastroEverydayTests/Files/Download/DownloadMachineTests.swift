// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import LastroSupport
import TestSupport
import Testing

@testable import LastroEveryday

@Suite("State machine of downloads", .ownThread)
struct DownloadMachineTests {
  typealias Machine = DownloadMachine

  static func answer(_ status: Int, _ fields: HTTPFields = [:], tag: String? = "\"v1\"") -> RangeAnswer {
    var head = HTTPResponse(status: .init(code: status))
    head.headerFields = fields
    if let tag { head.headerFields[.eTag] = tag }
    return RangeAnswer(head)
  }

  static let whole = answer(200, [.contentLength: "100"])
  static let left = whole.representation
  static let asked = Machine.AskedRange(from: 60, validator: "\"v1\"")
  static let part = answer(206, [.contentRange: "bytes 60-99/100", .contentLength: "40"])

  /// Returns a machine in a phase, with 60 of 100 bytes.
  static func machine(in phase: Machine.Phase, _ rules: Machine.Rules = .init()) -> Machine {
    var machine = Machine(rules)
    if phase == .idle { return machine }
    _ = machine.handle(.found(left, synced: phase == .finishing ? 100 : 60))
    if phase == .asking || phase == .finishing { return machine }
    _ = machine.handle(.head(part, asked: asked))
    if phase == .receiving { return machine }
    _ = machine.handle(.lost(isFinal: phase == .over))
    return machine
  }

  static let events: [(String, Machine.Event)] = [
    ("found", .found(nil, synced: 0)), ("head 200", .head(whole, asked: asked)),
    ("head 206", .head(part, asked: asked)),
    ("416", .refused(answer(416, [.contentRange: "bytes */60"]), asked: asked)),
    ("404", .refused(answer(404), asked: asked)), ("503", .refused(answer(503), asked: asked)),
    ("unreadable", .unreadable(asked: asked)), ("segments failed", .segmentsFailed(left, kept: 60)),
    ("chunk", .chunk(10, at: .zero)), ("compared", .compared(areEqual: false, rest: 1, at: .zero)), ("ended", .ended),
    ("lost", .lost(isFinal: false)), ("lost for good", .lost(isFinal: true)), ("saved", .saved(at: .zero)),
    ("waited", .waited), ("placed", .placed),
  ]

  /// The actions and the next phase for each event in each phase. Events that change nothing are omitted.
  static let table: [Machine.Phase: [String: (actions: [Machine.Action], phase: Machine.Phase)]] = [
    .idle: [
      "found": ([.forget, .cut(to: 0), .ask(nil)], .asking), "segments failed": ([.drop, .ask(nil)], .asking),
    ],
    .asking: [
      "head 200": ([.forget, .cut(to: 0), .read], .receiving), "head 206": ([.read], .receiving),
      "416": ([.forget, .cut(to: 0), .ask(nil)], .asking), "404": ([.drop, .ask(nil)], .asking),
      "503": ([.drop, .fail(.asItIs)], .over), "unreadable": ([.drop, .ask(nil)], .asking),
      "lost": ([.drop, .fail(.asItIs)], .over),
      "lost for good": ([.drop, .fail(.asItIs)], .over),
    ],
    .receiving: [
      "chunk": ([.write(at: 60), .read], .receiving), "ended": ([.drop, .wait(fruitless: 0)], .waiting),
      "lost": ([.drop, .wait(fruitless: 0)], .waiting), "lost for good": ([.drop, .fail(.asItIs)], .over),
    ],
    .waiting: [
      "waited": ([.ask(asked)], .asking), "lost": ([.drop, .fail(.asItIs)], .over),
      "lost for good": ([.drop, .fail(.asItIs)], .over),
    ],
    .finishing: [
      "placed": ([], .over), "lost": ([.drop, .fail(.asItIs)], .over),
      "lost for good": ([.drop, .fail(.asItIs)], .over),
    ],
    .over: [:],
  ]

  @Test(
    "Each event in each phase has the effect in the table, and other events have none",
    arguments: Machine.Phase.allCases)
  func table(phase: Machine.Phase) {
    expectRows(Self.table[phase] ?? [:], of: Self.events, from: Self.machine(in: phase), in: phase)
  }

  @Test(
    "After an unusable part the whole file is requested once, and the existing bytes are kept meanwhile",
    arguments: [
      (answer(206, [.contentRange: "bytes 61-99/100"]), "begins at byte 61"),
      (answer(206, [.contentRange: "bytes 0-59/100"]), "ends at byte 59, before byte 60"),
      (answer(206, [.contentRange: "bytes 60-100/*"]), "ends at byte 100, and the file has 100 bytes"),
      (answer(206, [.contentRange: "bytes 60-99/100", .contentLength: "39"]), "39 bytes"),
      (answer(206, [.contentRange: "bytes 60-100/101"]), "of 101 bytes"),
      (answer(206, [.contentRange: "items 60-99/100"]), "no Content-Range"),
      (answer(206), "no Content-Range"),
      (answer(206, [.contentType: "multipart/byteranges; boundary=x"]), "several parts"),
      (answer(206, [.contentRange: "bytes 60-99/100"], tag: "\"v2\""), "ETag is \"v2\""),
      (answer(206, [.contentRange: "bytes 60-99/100"], tag: "W/\"v1\""), "ETag is W/\"v1\""),
      (answer(206, [.contentRange: "bytes 60-99/100", .contentEncoding: "gzip"]), "content coding"),
    ])
  func mismatch(answer: RangeAnswer, reason: String) {
    var machine = Self.machine(in: .asking)
    #expect(machine.handle(.head(answer, asked: Self.asked)) == [.drop, .ask(nil)])
    #expect(machine.written == 60 && machine.synced == 60)
    #expect(machine.handle(.head(Self.whole, asked: nil)) == [.forget, .cut(to: 0), .read])
    #expect(machine.written == 0 && machine.restarts == 1)
    _ = machine.handle(.chunk(60, at: .zero))
    _ = machine.handle(.lost(isFinal: false))
    _ = machine.handle(.saved(at: .zero))
    #expect(machine.handle(.waited) == [.ask(Self.asked)])
    let actions = machine.handle(.head(answer, asked: Self.asked))
    guard case .fail(.mismatch(let text)) = actions.last else {
      Issue.record("\(actions)")
      return
    }
    #expect(text.contains(reason))
    #expect(!Machine.Failure.mismatch(text).discards)
  }

  @Test("A part may begin earlier: its first bytes are compared with the file, and the others written")
  func overlap() {
    var machine = Self.machine(in: .asking)
    let early = Self.answer(206, [.contentRange: "bytes 40-99/100", .contentLength: "60"])
    #expect(machine.handle(.head(early, asked: Self.asked)) == [.read])
    #expect(machine.handle(.chunk(15, at: .zero)) == [.compare(15, at: 40)])
    #expect(machine.handle(.compared(areEqual: true, rest: 0, at: .zero)) == [.read])
    #expect(machine.handle(.chunk(10, at: .zero)) == [.compare(5, at: 55)])
    #expect(machine.handle(.compared(areEqual: true, rest: 5, at: .zero)) == [.write(at: 60), .read])
    #expect(machine.handle(.chunk(35, at: .zero)) == [.write(at: 65), .read])
    #expect(machine.handle(.ended) == [.place])
    machine = Self.machine(in: .asking)
    _ = machine.handle(.head(early, asked: Self.asked))
    _ = machine.handle(.chunk(15, at: .zero))
    #expect(machine.handle(.compared(areEqual: false, rest: 0, at: .zero)) == [.drop, .ask(nil)])
  }

  @Test("A loss within bytes that already exist counts as no progress")
  func lossInOverlap() {
    var machine = Self.machine(in: .asking)
    _ = machine.handle(.head(Self.answer(206, [.contentRange: "bytes 0-99/100"]), asked: Self.asked))
    _ = machine.handle(.chunk(15, at: .zero))
    _ = machine.handle(.compared(areEqual: true, rest: 0, at: .zero))
    #expect(machine.handle(.ended) == [.drop, .wait(fruitless: 0)])
    #expect(machine.handle(.waited) == [.ask(Self.asked)])
    #expect(machine.handle(.head(Self.part, asked: Self.asked)) == [.read])
    #expect(machine.handle(.chunk(40, at: .zero)) == [.write(at: 60), .read])
  }

  @Test("A part may lack its tag and its total, and may be shorter than requested")
  func leniency() {
    var machine = Self.machine(in: .asking)
    let short = Self.answer(206, [.contentRange: "bytes 60-79/*"], tag: nil)
    #expect(machine.handle(.head(short, asked: Self.asked)) == [.read])
    #expect(machine.handle(.chunk(20, at: .zero)) == [.write(at: 60), .read])
    #expect(machine.handle(.ended) == [.ask(.init(from: 80, validator: "\"v1\""))])
  }

  @Test("A part that was not requested is refused")
  func unaskedPart() {
    var machine = Machine(.init())
    _ = machine.handle(.found(nil, synced: 0))
    let actions = machine.handle(.head(Self.part, asked: nil))
    #expect(actions == [.drop, .fail(.mismatch("the server sent a part, and none was asked for"))])
  }

  @Test(
    "The download starts over as often as the rules say, and then fails and discards its bytes", arguments: [0, 1, 3])
  func restarts(limit: Int) {
    var machine = Self.machine(in: .asking, .init(maximumRestarts: limit))
    for _ in 0..<limit {
      let actions = machine.handle(.refused(Self.answer(412), asked: Self.asked))
      #expect(actions == [.forget, .cut(to: 0), .ask(nil)])
      _ = machine.handle(.head(Self.whole, asked: nil))
      _ = machine.handle(.chunk(60, at: .zero))
      _ = machine.handle(.lost(isFinal: false))
      _ = machine.handle(.saved(at: .zero))
      _ = machine.handle(.waited)
      #expect(machine.phase == .asking)
    }
    let actions = machine.handle(.head(Self.whole, asked: Self.asked))
    #expect(actions == [.drop, .fail(.changed(times: limit + 1))])
    #expect(Machine.Failure.changed(times: 1).discards)
  }

  @Test("416 means completion only if the validator matches and nothing is left")
  func notSatisfiable() {
    var whole = Machine(.init())
    let unknown = Self.answer(200).representation
    _ = whole.handle(.found(unknown, synced: 60))
    #expect(whole.handle(.refused(Self.answer(416, [.contentRange: "bytes */60"]), asked: Self.asked)) == [.place])
    let other = Self.answer(416, [.contentRange: "bytes */70"])
    var machine = Self.machine(in: .asking)
    #expect(machine.handle(.refused(other, asked: Self.asked)) == [.forget, .cut(to: 0), .ask(nil)])
    #expect(machine.restarts == 1)
    machine = Self.machine(in: .asking)
    #expect(machine.handle(.refused(Self.answer(416), asked: Self.asked)) == [.forget, .cut(to: 0), .ask(nil)])
    // The machine probes an empty file.
    machine = Machine(.init(probesRanges: true))
    #expect(machine.handle(.found(nil, synced: 0)).last == .ask(.init(from: 0)))
    let empty = Self.answer(416, [.contentRange: "bytes */0"])
    #expect(machine.handle(.refused(empty, asked: .init(from: 0))) == [.forget, .cut(to: 0), .ask(nil)])
    #expect(machine.restarts == 0)
  }

  @Test("Losses without progress are counted, and each new byte resets their count")
  func fruitlessLosses() {
    var machine = Self.machine(in: .receiving)
    func lose(after count: Int) -> Machine.Action? {
      if count > 0 { _ = machine.handle(.chunk(count, at: .zero)) }
      let action = machine.handle(.lost(isFinal: false)).last
      _ = machine.handle(.saved(at: .zero))
      _ = machine.handle(.waited)
      _ = machine.handle(
        .head(
          Self.answer(206, [.contentRange: "bytes \(machine.written)-99/100"]),
          asked: .init(from: machine.written, validator: "\"v1\"")))
      return action
    }
    #expect(lose(after: 0) == .wait(fruitless: 0))
    #expect(lose(after: 0) == .wait(fruitless: 1))
    #expect(lose(after: 1) == .wait(fruitless: 0))
    #expect(lose(after: 0) == .wait(fruitless: 1))
  }

  @Test("After starting over, progress counts only beyond the previous position")
  func startingOver() {
    var machine = Machine(.init())
    _ = machine.handle(.found(nil, synced: 0))
    let weak = Self.answer(200, [.contentLength: "100"], tag: "W/\"v1\"")
    for fruitless in 0..<3 {
      _ = machine.handle(.head(weak, asked: nil))
      _ = machine.handle(.chunk(50, at: .zero))
      #expect(machine.handle(.lost(isFinal: false)) == [.drop, .wait(fruitless: fruitless)])
      #expect(machine.handle(.waited) == [.forget, .cut(to: 0), .ask(nil)])
    }
  }

  @Test("The state is saved after a number of bytes and an interval, and never claims more than was synced")
  func saving() {
    var machine = Machine(.init(bytesPerSync: 30, timePerSync: .seconds(5)))
    _ = machine.handle(.found(nil, synced: 0))
    _ = machine.handle(.head(Self.whole, asked: nil))
    // The first bytes are saved at once, and the pace stays the same.
    #expect(machine.handle(.chunk(20, at: .seconds(100))) == [.write(at: 0), .save, .read])
    #expect(machine.synced == 0)
    _ = machine.handle(.saved(at: .seconds(100)))
    #expect(machine.synced == 20)
    #expect(machine.handle(.chunk(9, at: .seconds(100))) == [.write(at: 20), .read])
    #expect(machine.handle(.chunk(1, at: .seconds(100))) == [.write(at: 29), .save, .read])
    #expect(machine.synced == 20)
    _ = machine.handle(.saved(at: .seconds(100)))
    #expect(machine.synced == 30)
  }

  @Test("The intervals between saves grow from 1 s to the longest one")
  func intervals() {
    var machine = Machine(.init(bytesPerSync: 1_000, timePerSync: .seconds(5)))
    _ = machine.handle(.found(nil, synced: 0))
    _ = machine.handle(.head(Self.whole, asked: nil))
    var saves: [Int] = []
    for second in 0..<25 {
      let time = Duration.seconds(100 + second)
      guard machine.handle(.chunk(1, at: time)).contains(.save) else { continue }
      saves.append(second)
      _ = machine.handle(.saved(at: time))
    }
    #expect(saves == [0, 1, 3, 7, 12, 17, 22])
  }

  @Test("The first bytes are not saved early if they complete the file, cannot be resumed, or follow a saved part")
  func noEarlySave() {
    let weak = Self.answer(200, [.contentLength: "100"], tag: "W/\"v1\"")
    let rows: [(answer: RangeAnswer, count: Int, rules: Machine.Rules)] = [
      (Self.whole, 100, .init()), (weak, 50, .init()), (Self.whole, 50, .init(resumes: false)),
    ]
    for (answer, count, rules) in rows {
      var machine = Machine(rules)
      _ = machine.handle(.found(nil, synced: 0))
      _ = machine.handle(.head(answer, asked: nil))
      #expect(machine.handle(.chunk(count, at: .zero)) == [.write(at: 0), .read])
    }
    var machine = Self.machine(in: .receiving)
    #expect(machine.handle(.chunk(10, at: .zero)) == [.write(at: 60), .read])
    // A download that starts over has no state file again.
    machine = Self.machine(in: .asking)
    _ = machine.handle(.head(Self.whole, asked: Self.asked))
    #expect(machine.handle(.chunk(10, at: .zero)) == [.write(at: 0), .save, .read])
  }

  @Test("Bytes beyond the announced or allowed length are not written")
  func tooMuch() {
    var machine = Self.machine(in: .receiving)
    #expect(machine.handle(.chunk(41, at: .zero)) == [.drop, .ask(nil)])
    _ = machine.handle(.head(Self.whole, asked: nil))
    #expect(
      machine.handle(.chunk(101, at: .zero)) == [.drop, .fail(.mismatch("more bytes came than were announced"))])
    machine = Self.machine(in: .asking, .init(maximumBytes: 99))
    #expect(machine.handle(.head(Self.part, asked: Self.asked)) == [.drop, .fail(.tooLarge(99))])
    machine = Machine(.init(maximumBytes: 5))
    _ = machine.handle(.found(nil, synced: 0))
    _ = machine.handle(.head(Self.answer(200), asked: nil))
    #expect(machine.handle(.chunk(6, at: .zero)) == [.drop, .fail(.tooLarge(5))])
  }

  @Test("A complete part is not requested again, and one that cannot be resumed starts over")
  func beginnings() {
    var machine = Machine(.init())
    #expect(machine.handle(.found(Self.left, synced: 100)) == [.cut(to: 100), .place])
    machine = Machine(.init(resumes: false))
    #expect(machine.handle(.found(Self.left, synced: 60)) == [.forget, .cut(to: 0), .ask(nil)])
    machine = Machine(.init())
    let weak = Self.answer(200, tag: "W/\"v1\"").representation
    #expect(machine.handle(.found(weak, synced: 60)) == [.forget, .cut(to: 0), .ask(nil)])
    machine = Machine(.init())
    #expect(machine.handle(.found(Self.left, synced: 0)) == [.forget, .cut(to: 0), .ask(nil)])
    machine = Machine(.init(maximumBytes: 99))
    #expect(machine.handle(.found(Self.left, synced: 100)) == [.forget, .cut(to: 0), .ask(nil)])
  }

  @Test("In any order of events it writes only contiguous bytes, fails once, and stops after its end")
  func randomOrders() {
    for seed in 0..<2_000 as Range<UInt64> {
      var generator = SeededGenerator(seed: seed)
      var machine = Machine(.init(bytesPerSync: 30))
      var ends = 0
      for _ in 0..<60 {
        let event = Self.events.randomElement(using: &generator)?.1 ?? .ended
        let wasOver = machine.phase == .over
        let actions = machine.handle(event)
        if wasOver { #expect(actions.isEmpty) }
        ends += actions.filter { if case .fail = $0 { true } else { false } }.count
        #expect(machine.synced <= machine.written)
        for case .write(let offset) in actions { #expect(offset + 10 == machine.written) }
      }
      #expect(ends <= 1)
    }
  }
}

/// A machine for transfers: a value that receives events and returns actions.
protocol TransferMachine {
  associatedtype Phase: Hashable
  associatedtype Event
  associatedtype Action: Equatable
  var phase: Phase { get }
  mutating func handle(_ event: Event) -> [Action]
}

extension DownloadMachine: TransferMachine {}
extension UploadMachine: TransferMachine {}

/// Asserts that each event leads to the actions and the phase of its row, and that an event without a row changes
/// nothing.
func expectRows<Machine: TransferMachine>(
  _ rows: [String: (actions: [Machine.Action], phase: Machine.Phase)], of events: [(String, Machine.Event)],
  from first: Machine, in phase: Machine.Phase, sourceLocation: SourceLocation = #_sourceLocation
) {
  #expect(first.phase == phase, sourceLocation: sourceLocation)
  for (name, event) in events {
    var machine = first
    let actions = machine.handle(event)
    let expected = rows[name] ?? ([], phase)
    #expect(actions == expected.actions, "\(phase), \(name)", sourceLocation: sourceLocation)
    #expect(machine.phase == expected.phase, "\(phase), \(name)", sourceLocation: sourceLocation)
  }
}
