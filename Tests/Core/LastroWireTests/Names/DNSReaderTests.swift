// SPDX-License-Identifier: Apache-2.0

import LastroWire
import Testing

/// A DNS message under construction, valid or invalid.
private struct DNSDraft {
  var id: UInt16 = 0
  var flags: UInt16 = 0x8180
  var questions: [[UInt8]] = []
  var answers: [[UInt8]] = []
  var authorities: [[UInt8]] = []
  var others: [[UInt8]] = []
  var rest: [UInt8] = []

  var bytes: [UInt8] {
    let counts = [questions.count, answers.count, authorities.count, others.count].map { number(UInt16($0)) }
    return number(id) + number(flags) + counts.flatMap(\.self)
      + (questions + answers + authorities + others).flatMap(\.self) + rest
  }

  static func name(_ text: String) -> [UInt8] {
    text.split(separator: ".").flatMap { [UInt8($0.utf8.count)] + Array($0.utf8) } + [0]
  }

  static func record(_ owner: [UInt8], _ type: UInt16, ttl: UInt32 = 300, kind: UInt16 = 1, _ data: [UInt8]) -> [UInt8]
  {
    owner + number(type) + number(kind) + number(UInt16(ttl >> 16)) + number(UInt16(ttl & 0xFFFF))
      + number(UInt16(data.count)) + data
  }

  static func start(_ owner: String, ttl: UInt32, minimum: UInt8) -> [UInt8] {
    record(name(owner), 6, ttl: ttl, name("ns.test") + name("root.test") + [UInt8](repeating: 0, count: 19) + [minimum])
  }
}

private func number(_ number: UInt16) -> [UInt8] { [UInt8(number >> 8), UInt8(number & 0xFF)] }

@Suite("DNS messages")
struct DNSReaderTests {
  private static let v4 = IPAddress(ipv4: 0xC000_0201)
  private static let data: [UInt8] = [192, 0, 2, 1]
  /// A compression pointer to the question, which follows the header.
  private static let pointer: [UInt8] = [0xC0, 12]

  private static func question(_ name: String = "www.Example.test", _ type: DNSRecordType = .a) throws -> DNSQuestion {
    try #require(DNSQuestion(name, type))
  }

  private static func draft(_ question: DNSQuestion) -> DNSDraft {
    DNSDraft(questions: [question.name + number(question.type.rawValue) + number(1)])
  }

  private static func read(_ draft: DNSDraft, _ question: DNSQuestion) -> Result<DNSResponse, DNSViolation> {
    Result { () throws(DNSViolation) in try DNSReader.read(draft.bytes, answering: question, id: 0) }
  }

  /// Returns a message with an alias by compressed names, an address, a record of another type, and a zone.
  private static func full(_ question: DNSQuestion) -> DNSDraft {
    var draft = draft(question)
    draft.answers = [
      DNSDraft.record(pointer, 5, ttl: 60, DNSDraft.name("cdn.test")),
      DNSDraft.record(DNSDraft.name("cdn.test"), 16, [1, 2]),
      DNSDraft.record(DNSDraft.name("CDN.test"), 1, data),
    ]
    draft.authorities = [DNSDraft.start("test", ttl: 9, minimum: 5)]
    draft.others = [DNSDraft.record([0], 41, kind: 1_232, [])]
    return draft
  }

  @Test("A question is written with EDNS and padded to 128 bytes")
  func queries() throws {
    let question = try Self.question()
    let plain = question.query(id: 0xABCD)
    #expect(Array(plain.prefix(12)) == [0xAB, 0xCD, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1])
    #expect(Array(plain[12..<12 + question.name.count]) == DNSDraft.name("www.Example.test"))
    for length in 1...60 {
      let question = try Self.question(String(repeating: "a", count: length) + ".test", .aaaa)
      #expect(question.query(id: 0, paddedTo: 128).count % 128 == 0)
    }
  }

  @Test("An invalid name makes no question")
  func names() {
    let label = String(repeating: "a", count: 63)
    for name in ["", ".", "a..b", ".a", "a.", label + "a", [label, label, label, label].joined(separator: ".")] {
      #expect(DNSQuestion(name, .a) == nil, "\(name)")
    }
    #expect(DNSQuestion([label, label, label, String(label.dropFirst(2))].joined(separator: "."), .a) != nil)
  }

  @Test("An address is found behind an alias, with the smallest time to live, whatever the case of letters")
  func found() throws {
    let question = try Self.question()
    #expect(Self.read(Self.full(question), question) == .success(.addresses([Self.v4], timeToLive: 60)))
  }

  @Test("A truncated message is refused, and so is one with trailing bytes")
  func splits() throws {
    let question = try Self.question()
    let bytes = Self.full(question).bytes
    for count in 0..<bytes.count {
      #expect(throws: DNSViolation.truncatedMessage, "\(count)") {
        _ = try DNSReader.read(Array(bytes.prefix(count)), answering: question, id: 0)
      }
    }
    #expect(throws: DNSViolation.trailingBytes) { _ = try DNSReader.read(bytes + [0], answering: question, id: 0) }
    let long = bytes + [UInt8](repeating: 0, count: 65_536)
    #expect(throws: DNSViolation.tooLong) { _ = try DNSReader.read(long, answering: question, id: 0) }
  }

  @Test("A response to another question, or to none, is refused")
  func others() throws {
    let question = try Self.question()
    func expect(_ violation: DNSViolation, _ edit: (inout DNSDraft) -> Void, line: Int = #line) {
      var draft = Self.full(question)
      edit(&draft)
      #expect(Self.read(draft, question) == .failure(violation), "line \(line)")
    }
    expect(.otherID) { $0.id = 7 }
    expect(.noResponse) { $0.flags = 0x0180 }
    expect(.noResponse) { $0.flags = 0x8980 }
    expect(.otherQuestion) { $0.questions = [] }
    expect(.otherQuestion) { $0.questions += $0.questions }
    // The case of letters matters (0x20), and so do the type and the class.
    expect(.otherQuestion) { $0.questions = [DNSDraft.name("www.example.test") + number(1) + number(1)] }
    expect(.otherQuestion) { $0.questions = [DNSDraft.name("www.Example.test") + number(28) + number(1)] }
    expect(.otherQuestion) { $0.questions = [DNSDraft.name("www.Example.test") + number(1) + number(3)] }
  }

  @Test("Only records that belong to the name are used")
  func bailiwick() throws {
    let question = try Self.question()
    var draft = Self.draft(question)
    draft.answers = [
      DNSDraft.record(DNSDraft.name("bank.test"), 1, Self.data),
      DNSDraft.record(DNSDraft.name("bank.test"), 5, DNSDraft.name("www.example.test")),
      DNSDraft.record(Self.pointer, 28, [UInt8](repeating: 1, count: 16)),
      DNSDraft.record(Self.pointer, 1, kind: 3, Self.data),
    ]
    draft.authorities = [DNSDraft.record(Self.pointer, 1, Self.data), DNSDraft.start("bank.test", ttl: 9, minimum: 9)]
    draft.others = [DNSDraft.record(Self.pointer, 1, Self.data)]
    #expect(Self.read(draft, question) == .success(.none(exists: true, timeToLive: nil)))
  }

  @Test("The absence of a name is cached as long as its zone says")
  func absences() throws {
    let question = try Self.question()
    for (zone, ttl, minimum, time) in [("example.test", 9, 5, 5), ("test", 4, 5, 4)]
      as [(String, UInt32, UInt8, UInt32)]
    {
      var draft = Self.draft(question)
      draft.flags = 0x8183
      draft.authorities = [DNSDraft.start(zone, ttl: ttl, minimum: minimum)]
      #expect(Self.read(draft, question) == .success(.none(exists: false, timeToLive: time)))
    }
    var draft = Self.draft(question)
    // The name ends with the bytes of the zone's name, but not at a label.
    draft.authorities = [DNSDraft.start("ample.test", ttl: 9, minimum: 9)]
    #expect(Self.read(draft, question) == .success(.none(exists: true, timeToLive: nil)))
    draft.flags = 0x8182
    #expect(Self.read(draft, question) == .success(.failure(code: 2)))
    // The upper bits of the code are in the OPT record. BADVERS does not mean that the name is absent.
    draft.flags = 0x8180
    draft.others = [DNSDraft.record([0], 41, ttl: 0x0100_0000, kind: 1_232, [0, 12, 0, 0])]
    #expect(Self.read(draft, question) == .success(.failure(code: 16)))
    draft.others = []
    draft.flags = 0x8380
    #expect(Self.read(draft, question) == .success(.truncated))
  }

  @Test("A chain may have 8 aliases in any order, and loops end")
  func chains() throws {
    let question = try Self.question("n0.test")
    for (count, isRead) in [(8, true), (9, false)] {
      var draft = Self.draft(question)
      for link in 0..<count {
        draft.answers.insert(
          DNSDraft.record(DNSDraft.name("n\(link).test"), 5, DNSDraft.name("n\(link + 1).test")), at: 0)
      }
      draft.answers.insert(DNSDraft.record(DNSDraft.name("n\(count).test"), 1, Self.data), at: 0)
      let expected: Result<DNSResponse, DNSViolation> =
        isRead ? .success(.addresses([Self.v4], timeToLive: 300)) : .failure(.longChain)
      #expect(Self.read(draft, question) == expected)
    }
    var loop = Self.draft(question)
    loop.answers = [DNSDraft.record(Self.pointer, 5, Self.pointer)]
    #expect(Self.read(loop, question) == .failure(.longChain))
  }

  @Test("Compression pointers must point backwards, and at most 126 are followed")
  func pointers() throws {
    let question = try Self.question("a.test")
    let end = UInt16(Self.draft(question).bytes.count)
    for target in [end, end + 1, 0x3FFF, 0, 11] {
      var draft = Self.draft(question)
      draft.answers = [DNSDraft.record(number(0xC000 | target), 1, Self.data)]
      #expect(Self.read(draft, question) == .failure(.pointer), "\(target)")
    }
    // The owner of one record is a chain of pointers, which is stored in the data of an unknown type.
    for (jumps, isRead) in [(126, true), (127, false)] {
      var draft = Self.draft(question)
      let data = end + 11
      var chain = number(0xC00C)
      for link in 1..<UInt16(jumps - 1) { chain += number(0xC000 | (data + 2 * (link - 1))) }
      draft.answers = [DNSDraft.record([0], 16, chain)]
      draft.answers.append(DNSDraft.record(number(0xC000 | (data + UInt16(chain.count) - 2)), 1, Self.data))
      let expected: Result<DNSResponse, DNSViolation> =
        isRead ? .success(.addresses([Self.v4], timeToLive: 300)) : .failure(.pointer)
      #expect(Self.read(draft, question) == expected, "\(jumps)")
    }
  }

  @Test("Names and records have their maximum sizes")
  func sizes() throws {
    let question = try Self.question("a.test")
    func read(_ records: [[UInt8]]) -> Result<DNSResponse, DNSViolation> {
      var draft = Self.draft(question)
      draft.answers = records
      return Self.read(draft, question)
    }
    let label = [63] + [UInt8](repeating: 0x61, count: 63)
    #expect(read([DNSDraft.record(label + label + label + label + [0], 1, Self.data)]) == .failure(.longName))
    for type: UInt8 in [0x40, 0x80] {
      #expect(read([DNSDraft.record([type, 0], 1, Self.data)]) == .failure(.labelType))
    }
    #expect(read([DNSDraft.record(Self.pointer, 1, [1, 2, 3])]) == .failure(.recordLength))
    #expect(read([DNSDraft.record(Self.pointer, 28, Self.data)]) == .failure(.recordLength))
    #expect(read([DNSDraft.record(Self.pointer, 5, Self.pointer + [0])]) == .failure(.recordLength))
    let one = DNSDraft.record(Self.pointer, 1, Self.data)
    #expect(read(Array(repeating: one, count: 513)) == .failure(.tooManyRecords))
    guard case .success(.addresses(let found, _)) = read(Array(repeating: one, count: 512)) else {
      Issue.record("512 records must be read")
      return
    }
    #expect(found.count == DNSReader.mostAddresses)
    // A time to live whose first bit is set counts as zero.
    #expect(
      read([DNSDraft.record(Self.pointer, 1, ttl: 0x8000_0000, Self.data)])
        == .success(.addresses([Self.v4], timeToLive: 0)))
  }

  @Test("Mutated messages are read or refused, and never yield an address they do not contain")
  func mutations() throws {
    let question = try Self.question()
    let bytes = Self.full(question).bytes
    var dice = Dice(seed: 17)
    var outcomes: Set<String> = []
    for _ in 0..<20_000 {
      var mutated = bytes
      for _ in 0...dice.number(below: 4) {
        let at = dice.number(below: mutated.count)
        switch dice.number(below: 4) {
        case 0: mutated[at] = UInt8(dice.number(below: 256))
        case 1: mutated[at] ^= 1 << UInt8(dice.number(below: 8))
        case 2: mutated.insert(UInt8(dice.number(below: 256)), at: at)
        default: mutated.remove(at: at)
        }
      }
      do {
        let response = try DNSReader.read(mutated, answering: question, id: 0)
        outcomes.insert("read")
        guard case .addresses(let found, _) = response else { continue }
        for address in found {
          let four = (0..<4).map { UInt8(truncatingIfNeeded: address.low >> (24 - 8 * UInt64($0))) }
          #expect(mutated.indices.contains { mutated[$0...].starts(with: four) })
        }
      } catch {
        outcomes.insert("\(error)")
      }
    }
    #expect(outcomes.count > 6, "\(outcomes)")
  }
}

/// A generator that yields the same numbers in each run.
private struct Dice {
  var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func number(below limit: Int) -> Int {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return Int((state >> 33) % UInt64(limit))
  }
}
