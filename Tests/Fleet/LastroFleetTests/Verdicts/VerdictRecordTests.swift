// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroResilience
import Testing

@testable import LastroFleet

@Suite("Record of a shared circuit")
struct VerdictRecordTests {
  private enum Situation: String, CaseIterable {
    case none, open, due, own, probed, probedByMe, probedByMeOnce, closed
  }

  private enum Request: String, CaseIterable {
    case poll, opened, closed, closedKnown, turn, turnKnown
  }

  private static let now = Duration.seconds(1_790_000_000)

  private static func record(_ situation: Situation) -> VerdictRecord? {
    let now = now.wholeMicroseconds
    var record = VerdictRecord(id: 1, isOpen: situation != .closed, by: "b", until: now)
    switch situation {
    case .none: return nil
    case .open: record.until = now + 4_000_000
    case .probed, .probedByMe:
      record.prober = situation == .probed ? "c" : "a"
      record.probesUntil = now + 3_000_000
    case .probedByMeOnce: (record.prober, record.probesUntil) = ("a", now)
    case .own: record.by = "a"
    case .due, .closed: break
    }
    return record
  }

  private static func request(_ kind: Request) -> VerdictRecord.Request {
    var request = VerdictRecord.Request(instance: "a")
    switch kind {
    case .poll: break
    case .opened: request.report = .opened(left: .seconds(5))
    case .closed: request.report = .closed
    case .closedKnown: (request.report, request.known) = (.closed, 1)
    case .turn: request.turn = .seconds(5)
    case .turnKnown: (request.turn, request.known) = (.seconds(5), 1)
    }
    return request
  }

  private static func outcome(_ record: VerdictRecord?, _ kind: Request) -> String {
    let (next, reply) = VerdictRecord.exchange(record, request(kind), at: now, id: 2)
    var words = next == nil ? "" : "written, "
    if let verdict = reply.verdict {
      words += "\(verdict.id) \(verdict.isOpen ? "open \(verdict.left.brief)" : "closed")\(reply.isOwn ? " own" : "")"
    } else {
      words += "no verdict"
    }
    if let next, let prober = next.prober { words += ", \(prober) probes" }
    switch reply.turn {
    case .taken: words += ", taken"
    case .other(let left): words += ", other \(left.brief)"
    case .news: words += ", news"
    case .cancelled: words += ", CANCELLED"
    case nil: break
    }
    return words
  }

  @Test("Each request in each situation has the outcome of the table")
  func table() {
    var rows: [String] = []
    for situation in Situation.allCases {
      let cells = Request.allCases.map { "\($0.rawValue): \(Self.outcome(Self.record(situation), $0))" }
      rows.append("\(situation.rawValue): \(cells.joined(separator: "; "))")
    }
    #expect(rows.joined(separator: "\n") == Self.expected, "\n\(rows.joined(separator: "\n"))")
  }

  private static let expected = """
    none: poll: no verdict; opened: written, 2 open 5 s own; closed: no verdict; closedKnown: no verdict; turn: written, 2 open 0 ms own, a probes, taken; turnKnown: written, 2 open 0 ms own, a probes, taken
    open: poll: 1 open 4 s; opened: 1 open 4 s; closed: 1 open 4 s; closedKnown: written, 2 closed own; turn: 1 open 4 s, news; turnKnown: written, 1 open 4 s, a probes, taken
    due: poll: 1 open 0 ms; opened: written, 2 open 5 s own; closed: 1 open 0 ms; closedKnown: written, 2 closed own; turn: written, 1 open 0 ms, a probes, taken; turnKnown: written, 1 open 0 ms, a probes, taken
    own: poll: 1 open 0 ms own; opened: written, 2 open 5 s own; closed: written, 2 closed own; closedKnown: written, 2 closed own; turn: written, 1 open 0 ms own, a probes, taken; turnKnown: written, 1 open 0 ms own, a probes, taken
    probed: poll: 1 open 0 ms; opened: written, 2 open 5 s own, c probes; closed: 1 open 0 ms; closedKnown: written, 2 closed own, c probes; turn: 1 open 0 ms, other 3 s; turnKnown: 1 open 0 ms, other 3 s
    probedByMe: poll: 1 open 0 ms; opened: written, 2 open 5 s own; closed: written, 2 closed own; closedKnown: written, 2 closed own; turn: written, 1 open 0 ms, a probes, taken; turnKnown: written, 1 open 0 ms, a probes, taken
    probedByMeOnce: poll: 1 open 0 ms; opened: written, 2 open 5 s own; closed: 1 open 0 ms; closedKnown: written, 2 closed own; turn: written, 1 open 0 ms, a probes, taken; turnKnown: written, 1 open 0 ms, a probes, taken
    closed: poll: 1 closed; opened: written, 2 open 5 s own; closed: 1 closed; closedKnown: 1 closed; turn: 1 closed, news; turnKnown: written, 1 closed, a probes, taken
    """

  @Test("A record is read as it was written, and any other value counts as none")
  func coding() throws {
    let record = try #require(Self.record(.probed))
    #expect(VerdictRecord(try record.encoded()) == record)
    let garbled = ["", "{}", "null", "[1]", #"{"id":-1,"isOpen":true,"by":"b","until":1}"#, "\u{0}\u{1}", "{\"id\":1"]
    for text in garbled { #expect(VerdictRecord(Array(text.utf8)) == nil, "\(text)") }
    #expect(VerdictRecord([0xFF, 0xFE]) == nil && VerdictRecord(nil) == nil)
  }

  @Test("A break lasts an hour at most, and a turn a minute, whatever the record says", arguments: [Int64.max, .min])
  func extremes(_ time: Int64) {
    for now in [Duration.zero, Self.now] {
      var record = VerdictRecord(id: 1, isOpen: true, by: "b", until: time)
      record.prober = "c"
      record.probesUntil = time
      let (_, reply) = VerdictRecord.exchange(
        record, .init(instance: "a", turn: .seconds(5), known: 1), at: now, id: 2)
      let left = reply.verdict?.left ?? .zero
      #expect(left >= .zero && left <= .seconds(3600), "\(left)")
      switch reply.turn {
      case .taken: break
      case .other(let left): #expect(left <= .seconds(60))
      default: Issue.record("\(reply)")
      }
      let lifetime = record.lifetime(at: now)
      #expect(lifetime >= .seconds(600) && lifetime <= .seconds(4200), "\(lifetime)")
    }
  }

  @Test("A report of an endless break is one of an hour")
  func longReport() {
    let request = VerdictRecord.Request(instance: "a", report: .opened(left: .seconds(1_000_000)))
    #expect(VerdictRecord.exchange(nil, request, at: Self.now, id: 2).reply.verdict?.left == .seconds(3600))
  }

  @Test("Keys in the store are readable if they are short, and hashes otherwise, and never longer than 80 characters")
  func keys() throws {
    let origin = try Origin("https://api.example.org")
    func key(_ part: String, _ name: String = "shop") -> String? {
      SharedVerdicts.storeKey(of: ResilienceKey(origin, part: part), name)
    }
    #expect(key("") == "verdict:shop:https://api.example.org")
    #expect(key("search") == "verdict:shop:https://api.example.org#search")
    let long = String(repeating: "n", count: 40)
    let hashed = [
      key("a b"), key("ü"), key(String(repeating: "x", count: 200)), key("", "a:b"), key("catalogue", long),
    ]
    for key in hashed {
      let key = try #require(key)
      #expect(StoreKey.isValid(key) && key.utf8.count <= 80 && !key.contains("example"), "\(key)")
    }
    #expect(Set(hashed).count == hashed.count)
  }
}
