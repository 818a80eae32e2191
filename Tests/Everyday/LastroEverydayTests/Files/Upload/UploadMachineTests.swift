// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import TestSupport
import Testing

@testable import LastroEveryday

@Suite("State machine of uploads", .ownThread)
struct UploadMachineTests {
  typealias Machine = UploadMachine

  static func answer(_ status: Int, _ fields: HTTPFields = [:], _ dialect: UploadProtocol = .tus) -> UploadAnswer {
    UploadAnswer(HTTPResponse(status: .init(code: status), headerFields: fields), dialect)
  }

  static let created = answer(201, [.location: "/u/1"])

  /// Returns a machine in a phase, with 40 of 100 bytes uploaded.
  static func machine(in phase: Machine.Phase, _ rules: Machine.Rules = .init(length: 100)) -> Machine {
    var machine = Machine(rules)
    if phase == .idle { return machine }
    if phase == .creating {
      _ = machine.handle(.begun(hasURL: false))
      return machine
    }
    _ = machine.handle(.begun(hasURL: true))
    if phase == .probing { return machine }
    _ = machine.handle(.answered(answer(200, [.uploadOffset: "40"], rules.dialect)))
    if phase == .appending { return machine }
    _ = machine.handle(.lost(isFinal: phase == .over))
    return machine
  }

  static let events: [(String, Machine.Event)] = [
    ("begun", .begun(hasURL: false)), ("named", .named), ("2xx", .answered(answer(204, [.uploadOffset: "70"]))),
    ("created", .answered(created)), ("403", .refused(answer(403))), ("409", .refused(answer(409))),
    ("413", .refused(answer(413))), ("423", .refused(answer(423))), ("500", .refused(answer(500))),
    ("lost", .lost(isFinal: false)), ("lost for good", .lost(isFinal: true)), ("waited", .waited),
    ("redirected", .redirected),
  ]

  static let rest = Machine.Action.append(from: 70, count: 30, isLast: true)

  static let table: [Machine.Phase: [String: (actions: [Machine.Action], phase: Machine.Phase)]] = [
    .idle: ["begun": ([.create(sendsAll: false)], .creating)],
    .creating: [
      "created": ([.append(from: 0, count: 100, isLast: true)], .appending),
      "2xx": ([.fail(.violation("the server named no upload"))], .over), "named": ([], .creating),
      "403": ([.fail(.asItIs)], .over), "409": ([.fail(.asItIs)], .over), "413": ([.fail(.asItIs)], .over),
      "423": ([.wait(fruitless: 0)], .waiting), "500": ([.wait(fruitless: 0)], .waiting),
      "lost": ([.wait(fruitless: 0)], .waiting), "lost for good": ([.fail(.asItIs)], .over),
      "redirected": ([.create(sendsAll: false)], .creating),
    ],
    .probing: [
      "2xx": ([rest], .appending),
      "created": ([.fail(.violation("the server did not say how much it has"))], .over),
      "403": ([.fail(.asItIs)], .over), "409": ([.fail(.asItIs)], .over), "413": ([.fail(.asItIs)], .over),
      "423": ([.wait(fruitless: 0)], .waiting), "500": ([.wait(fruitless: 0)], .waiting),
      "lost": ([.wait(fruitless: 0)], .waiting), "lost for good": ([.fail(.asItIs)], .over),
      "redirected": ([.probe], .probing),
    ],
    .appending: [
      "2xx": ([rest], .appending),
      "created": ([.fail(.violation("the server did not say how much it has"))], .over),
      "403": ([.fail(.asItIs)], .over), "409": ([.wait(fruitless: 0)], .waiting), "413": ([.probe], .probing),
      "423": ([.wait(fruitless: 0)], .waiting), "500": ([.wait(fruitless: 0)], .waiting),
      "lost": ([.wait(fruitless: 0)], .waiting), "lost for good": ([.fail(.asItIs)], .over),
      "redirected": ([.probe], .probing),
    ],
    .waiting: [
      "waited": ([.probe], .probing), "lost": ([.fail(.asItIs)], .over), "lost for good": ([.fail(.asItIs)], .over),
    ],
    .over: [:],
  ]

  @Test(
    "Each event in each phase has the effect in the table, and other events have none",
    arguments: Machine.Phase.allCases)
  func table(phase: Machine.Phase) {
    expectRows(Self.table[phase] ?? [:], of: Self.events, from: Self.machine(in: phase), in: phase)
  }

  @Test("Redirects are counted until there is progress, so a server cannot cause an endless loop")
  func redirects() {
    var machine = Self.machine(in: .appending)
    for _ in 0..<20 {
      #expect(machine.handle(.redirected) == [.probe])
      _ = machine.handle(.answered(Self.answer(200, [.uploadOffset: "40"])))
      #expect(machine.phase == .appending)
    }
    #expect(machine.handle(.redirected) == [.fail(.violation("the server redirects it more than 20 times"))])
    machine = Self.machine(in: .appending)
    for offset in 41..<99 {
      #expect(machine.handle(.redirected) == [.probe])
      _ = machine.handle(.answered(Self.answer(200, [.uploadOffset: "\(offset)"])))
      #expect(machine.phase == .appending)
    }
  }

  @Test("A lower offset is resumed from, a higher one skips bytes, and one beyond the end fails")
  func offsets() {
    var machine = Self.machine(in: .waiting)
    _ = machine.handle(.waited)
    #expect(
      machine.handle(.answered(Self.answer(200, [.uploadOffset: "10"]))) == [.append(from: 10, count: 90, isLast: true)]
    )
    machine = Self.machine(in: .probing)
    #expect(machine.handle(.answered(Self.answer(200, [.uploadOffset: "100"]))) == [.done])
    machine = Self.machine(in: .probing)
    #expect(
      machine.handle(.answered(Self.answer(200, [.uploadOffset: "101"])))
        == [.fail(.violation("the server reports 101 bytes of an upload of 100"))])
    machine = Self.machine(in: .probing)
    #expect(
      machine.handle(.answered(Self.answer(200, [.uploadOffset: "10", .uploadLength: "99"])))
        == [.fail(.violation("the server expects 99 bytes in all, and the file has 100"))])
  }

  @Test("413 halves the request size, down to the server's minimum")
  func shrinking() {
    var machine = Self.machine(in: .appending, .init(length: 100, bytesPerAppend: 40))
    for count in [20, 10, 5, 2, 1] as [Int64] {
      #expect(machine.handle(.refused(Self.answer(413))) == [.probe])
      #expect(
        machine.handle(.answered(Self.answer(200, [.uploadOffset: "40"])))
          == [.append(from: 40, count: count, isLast: false)])
    }
    #expect(machine.handle(.refused(Self.answer(413))) == [.fail(.asItIs)])
    machine = Self.machine(in: .probing, .init(dialect: .draft, length: 100))
    let limits = Self.answer(
      204, [.uploadOffset: "0", .uploadLimit: "max-append-size=50, min-append-size=30"], .draft)
    #expect(machine.handle(.answered(limits)) == [.append(from: 0, count: 50, isLast: false)])
    #expect(machine.handle(.refused(Self.answer(413, [:], .draft))) == [.probe])
    #expect(machine.handle(.answered(limits)) == [.append(from: 0, count: 30, isLast: false)])
    #expect(machine.handle(.refused(Self.answer(413, [:], .draft))) == [.fail(.asItIs)])
  }

  @Test("Losses without server progress are counted, and each new byte resets their count")
  func fruitless() {
    var machine = Self.machine(in: .appending)
    func lose(thenHas offset: Int) -> Machine.Action? {
      let action = machine.handle(.lost(isFinal: false)).last
      _ = machine.handle(.waited)
      _ = machine.handle(.answered(Self.answer(200, [.uploadOffset: "\(offset)"])))
      return action
    }
    #expect(lose(thenHas: 40) == .wait(fruitless: 0))
    #expect(lose(thenHas: 40) == .wait(fruitless: 1))
    #expect(lose(thenHas: 41) == .wait(fruitless: 2))
    #expect(lose(thenHas: 41) == .wait(fruitless: 0))
  }

  @Test("Draft protocol: Upload-Complete ends the upload, and that response is the target's, whatever its status")
  func draft() {
    var machine = Self.machine(in: .appending, .init(dialect: .draft, length: 100))
    #expect(machine.handle(.answered(Self.answer(200, [.uploadComplete: "?1"], .draft))) == [.done])
    machine = Self.machine(in: .appending, .init(dialect: .draft, length: 100))
    #expect(machine.handle(.refused(Self.answer(500, [.uploadComplete: "?1"], .draft))) == [.fail(.asItIs)])
    machine = Self.machine(in: .probing, .init(dialect: .draft, length: 100))
    #expect(
      machine.handle(.answered(Self.answer(204, [.uploadOffset: "100", .uploadComplete: "?0"], .draft)))
        == [.append(from: 100, count: 0, isLast: true)])
    machine = Self.machine(in: .probing, .init(dialect: .draft, length: 100))
    #expect(machine.handle(.answered(Self.answer(204, [.uploadComplete: "?1"], .draft))) == [.done])
  }

  @Test("Draft protocol, optimistic: without an upload URL possibly processed content is not sent again")
  func optimistic() {
    let rules = Machine.Rules(dialect: .draft, length: 100, sendsAtOnce: true)
    var machine = Self.machine(in: .creating, rules)
    #expect(machine.handle(.lost(isFinal: false)) == [.fail(.asItIs)])
    machine = Self.machine(in: .creating, rules)
    _ = machine.handle(.named)
    #expect(machine.handle(.lost(isFinal: false)) == [.wait(fruitless: 0)])
    #expect(machine.handle(.waited) == [.probe])
    // A server that does not support resumption has received everything.
    machine = Self.machine(in: .creating, rules)
    #expect(machine.handle(.answered(Self.answer(200, [:], .draft))) == [.done])
    machine = Self.machine(in: .creating, rules)
    let some = Self.answer(201, [.location: "/u", .uploadComplete: "?0", .uploadOffset: "30"], .draft)
    #expect(machine.handle(.answered(some)) == [.append(from: 30, count: 70, isLast: true)])
  }

  @Test(
    "Limits are parsed as a dictionary, and a known name of another type voids them all",
    arguments: [
      ("max-size=10, min-append-size=5", 10), ("max-size=10, max-age=\"x\"", nil), ("max-size=10.5", nil),
      ("max-size=10, unknown=?1", 10), ("max-size=-1", nil), ("max-size=10,", nil), ("", nil),
    ] as [(String, Int64?)])
  func limits(field: String, maximum: Int64?) { #expect(UploadLimit(field).maximumBytes == maximum) }

  @Test("A file that is too large or too small is not sent")
  func sizes() {
    for (field, failure) in [
      ("max-size=99", Machine.Failure.tooLarge(limit: 99)), ("min-size=101", .tooSmall(limit: 101)),
    ] {
      var machine = Self.machine(in: .creating, .init(dialect: .draft, length: 100))
      let answer = Self.answer(201, [.location: "/u", .uploadComplete: "?0", .uploadLimit: field], .draft)
      #expect(machine.handle(.answered(answer)) == [.fail(failure)])
    }
  }

  @Test("A refused creation reports its reason: size, version, or none")
  func refusedMaking() {
    let tus: [(UploadAnswer, Machine.Failure)] = [
      (Self.answer(413, [.tusMaxSize: "99"]), .tooLarge(limit: 99)), (Self.answer(413, [.tusMaxSize: "100"]), .asItIs),
      (Self.answer(413), .asItIs),
      (Self.answer(412, [.tusVersion: "2.0.0"]), .violation("the server speaks tus 2.0.0, not 1.0.0")),
      (Self.answer(412), .asItIs),
    ]
    for (answer, failure) in tus {
      var machine = Self.machine(in: .creating)
      #expect(machine.handle(.refused(answer)) == [.fail(failure)])
    }
    var machine = Self.machine(in: .creating, .init(dialect: .draft, length: 100))
    let limits = Self.answer(400, [.uploadLimit: "max-size=10"], .draft)
    #expect(machine.handle(.refused(limits)) == [.fail(.tooLarge(limit: 10))])
  }

  @Test("In any order of events one request runs at a time, the upload fails once, and stops after its end")
  func randomOrders() {
    for seed in 0..<2_000 as Range<UInt64> {
      var generator = SeededGenerator(seed: seed)
      var machine = Machine(.init(length: 100, bytesPerAppend: 30))
      var ends = 0
      for _ in 0..<60 {
        let event = Self.events.randomElement(using: &generator)?.1 ?? .waited
        let wasOver = machine.phase == .over
        let actions = machine.handle(event)
        if wasOver { #expect(actions.isEmpty) }
        #expect(actions.count <= 1)
        for case .append(let from, let count, _) in actions { #expect(from >= 0 && count > 0 && from + count <= 100) }
        ends += actions.filter { $0 == .done || { if case .fail = $0 { true } else { false } }($0) }.count
      }
      #expect(ends <= 1)
    }
  }
}
