// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import LastroHTTP2

@Suite("Whether a server of HTTP/2 is alive")
struct HTTP2LivenessTests {
  private let start = 1_000 * HTTP2Time.second

  /// What is waited for, and what is said to each event then: a PING asked for, a step, or `.` for nothing.
  static let table = """
    waits for          request read  probe due+1s    due+10s
    nothing            .       -     ping  .         .
    nothing, after 10s ping    -     ping  .         .
    request            .       reset ping  .         dead
    probe              .       reset .     unhealthy unhealthy
    both               .       reset .     unhealthy dead
    """

  private func machine(_ state: String) -> HTTP2Liveness {
    var machine = HTTP2Liveness(
      now: start - (state == "nothing" || state == "probe" ? 0 : HTTP2Liveness.silence))
    if state == "request" || state == "both" { _ = machine.willRequest(now: start) }
    if state == "probe" || state == "both" { _ = machine.probe(now: start) }
    return machine
  }

  private func cell(_ state: String, _ event: String) -> String {
    var machine = machine(state)
    switch event {
    case "request": return machine.willRequest(now: start) ? "ping" : "."
    case "probe": return machine.probe(now: start) ? "ping" : "."
    case "read":
      let waited = machine.deadline != nil
      machine.read(now: start)
      return waited && machine.deadline == nil ? "reset" : "-"
    default:
      let now = start + (event == "due+1s" ? 1 : 10) * HTTP2Time.second
      switch machine.due(now: now) {
      case nil: return "."
      case .unhealthy: return "unhealthy"
      case .dead: return "dead"
      }
    }
  }

  @Test("is as the table has it, in every cell")
  func cells() {
    let events = ["request", "read", "probe", "due+1s", "due+10s"]
    let states = ["nothing", "nothing, after 10s", "request", "probe", "both"]
    let rows =
      ["waits for " + events.joined(separator: " ")]
      + states.map { state in "\(state) " + events.map { cell(state, $0) }.joined(separator: " ") }
    #expect(rows == Self.table.split(separator: "\n").map { $0.split(separator: " ").joined(separator: " ") })
  }

  @Test("is asked with PING beside a request after ten seconds of silence, and given up after ten more")
  func silence() throws {
    let lab = try SessionLab.ready()
    let first = try lab.open()
    #expect(lab.frames(.ping).isEmpty && lab.session.deadline == nil)
    lab.now += 10 * HTTP2Time.second
    let second = try lab.open()
    #expect(lab.frames(.ping).count == 1)
    #expect(lab.session.deadline == lab.now + 10 * HTTP2Time.second)
    let queued = try #require(lab.session.open(try SessionLab.request(), now: lab.now))
    lab.now += 10 * HTTP2Time.second - 1
    lab.session.tick(now: lab.now)
    #expect(lab.session.loss == nil)
    lab.now += 1
    lab.session.tick(now: lab.now)
    lab.drain([])
    #expect(lab.session.loss == .unanswered)
    #expect(lab.ending(first) == .lost(.unanswered) && lab.ending(second) == .lost(.unanswered))
    #expect(lab.ending(queued) == .unprocessed(.unsent))
    #expect(lab.told.last == .failed(.unanswered))
  }

  @Test("is shown by anything that comes", arguments: [true, false])
  func answered(isPong: Bool) throws {
    let lab = try SessionLab.ready()
    _ = try lab.open()
    lab.now += 15 * HTTP2Time.second
    let stream = try lab.open()
    lab.now += 9 * HTTP2Time.second
    lab.receive(isPong ? [.ping(lab.frames(.ping)[0].payload, isAck: true)] : [.head(200, on: stream.number)])
    #expect(lab.session.deadline == nil)
    lab.now += 9 * HTTP2Time.second
    lab.tick()
    #expect(lab.session.loss == nil)
  }

  @Test("is asked after a request's time was over: without an answer within a second it gets no more requests")
  func probe() throws {
    let lab = try SessionLab.ready()
    let late = try lab.open()
    let other = try lab.open()
    lab.session.reset(late)
    lab.session.probe(now: lab.now)
    lab.session.probe(now: lab.now)
    lab.send()
    #expect(lab.frames(.ping).count == 1)
    lab.now += HTTP2Time.second
    lab.tick()
    #expect(lab.has(.unhealthy) && lab.session.isUnhealthy)
    #expect(lab.session.freeStreams == 0 && lab.session.loss == nil)
    lab.receive([.head(200, on: other.number, ends: true)])
    #expect(lab.ending(other) == .whole)
    let well = try SessionLab.ready()
    well.session.probe(now: well.now)
    well.send()
    well.now += HTTP2Time.millisecond
    well.receive([.ping(well.frames(.ping)[0].payload, isAck: true)])
    well.now += HTTP2Time.second
    well.tick()
    #expect(!well.session.isUnhealthy && well.session.freeStreams == 100)
  }

  @Test("is not asked while nothing is requested")
  func quiet() throws {
    let quiet = try SessionLab.ready()
    #expect(quiet.session.deadline == nil)
  }
}
