// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import LastroHTTP

@Suite("Liveness of an HTTP/2 server")
struct HTTP2LivenessTests {
  private let start = 1_000 * HTTP2Time.second

  /// The PINGs that wait for an answer, and the result of each event in that state: `ping` requests a PING, `reset`
  /// ends the wait, `later` postpones it, `.` has no effect. A PING is `queued` if it had not been sent at the latest
  /// check.
  static let table = """
    waits for       request read  probe early delivered moving stuck
    nothing         .       -     ping  .     .         .      .
    silent          ping    -     ping  .     .         .      .
    request         .       reset ping  .     unhealthy later  dead
    request queued  .       reset ping  .     later     later  dead
    probe           .       reset .     .     unhealthy later  unhealthy
    probe queued    .       reset .     .     later     later  unhealthy
    both            .       reset .     .     unhealthy later  dead
    both queued     .       reset .     .     later     later  dead
    """

  private func machine(_ state: String) -> HTTP2Liveness {
    let isFresh = state == "nothing" || state.hasPrefix("probe")
    var machine = HTTP2Liveness(now: isFresh ? start : start - limits.silence)
    if state.hasPrefix("request") || state.hasPrefix("both") { _ = machine.willRequest(now: start) }
    if state.hasPrefix("probe") || state.hasPrefix("both") { _ = machine.probe(now: start) }
    if state.hasSuffix("queued") {
      // At the first check the PING was still queued behind other bytes.
      _ = machine.due(now: start + limits.answer, output: .moving)
      _ = machine.due(now: start + limits.answer, output: .moving)
    }
    return machine
  }

  private let limits = HTTP2Liveness.Limits()

  private func cell(_ state: String, _ event: String) -> String {
    var machine = machine(state)
    let before = machine.deadline
    switch event {
    case "request": return machine.willRequest(now: start + 1) ? "ping" : "."
    case "probe": return machine.probe(now: start) ? "ping" : "."
    case "read":
      machine.read(now: start)
      return before != nil && machine.deadline == nil ? "reset" : "-"
    default:
      let output: HTTP2Liveness.Output = event == "moving" ? .moving : event == "stuck" ? .stuck : .delivered
      let now = event == "early" ? (before ?? start) - 1 : start + 3 * limits.answer
      switch machine.due(now: now, output: output) {
      case nil: return machine.deadline == before ? "." : "later"
      case .unhealthy: return "unhealthy"
      case .dead: return "dead"
      }
    }
  }

  @Test("Every event in every state leads to the state of the table")
  func cells() {
    let events = ["request", "read", "probe", "early", "delivered", "moving", "stuck"]
    let states = [
      "nothing", "silent", "request", "request queued", "probe", "probe queued", "both", "both queued",
    ]
    let rows =
      ["waits for " + events.joined(separator: " ")]
      + states.map { state in "\(state) " + events.map { cell(state, $0) }.joined(separator: " ") }
    #expect(rows == Self.table.split(separator: "\n").map { $0.split(separator: " ").joined(separator: " ") })
  }

  @Test("The time for a PING's reply starts when the PING is found to be delivered")
  func late() {
    var machine = HTTP2Liveness(now: start - limits.silence)
    var now = start
    _ = machine.willRequest(now: now)
    for _ in 0..<5 {
      now += limits.answer
      #expect(machine.deadline == now)
      _ = machine.due(now: now, output: .moving)
    }
    now += limits.answer
    let steps = [
      machine.due(now: now, output: .delivered),
      machine.due(now: now + limits.answer - 1, output: .delivered),
      machine.due(now: now + limits.answer, output: .delivered),
    ]
    #expect(steps == [nil, nil, .unhealthy])
    #expect(machine.deadline == nil)
  }

  @Test(
    "A server whose kernel acknowledges the PING, but that does not reply, gets no new requests and keeps running ones")
  func busy() throws {
    let lab = try SessionLab.ready()
    let first = try lab.open("POST")
    lab.now += 10 * HTTP2Time.second
    let second = try lab.open()
    lab.now += 10 * HTTP2Time.second
    lab.tick(.delivered)
    #expect(lab.has(.retired) && lab.session.loss == nil)
    #expect(lab.session.freeStreams == 0 && lab.session.deadline == nil)
    lab.now += 5 * HTTP2Time.second
    lab.receive([.head(200, on: first.number, ends: true), .head(200, on: second.number, ends: true)])
    #expect(lab.ending(first) == .whole && lab.ending(second) == .whole)
  }

  @Test("A PING is sent during a request after ten seconds of silence, and the server is given up ten seconds later")
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
    lab.session.tick(now: lab.now, output: .stuck)
    #expect(lab.session.loss == nil)
    lab.now += 1
    lab.session.tick(now: lab.now, output: .stuck)
    lab.drain([])
    #expect(lab.session.loss == .unanswered)
    #expect(lab.ending(first) == .lost(.unanswered) && lab.ending(second) == .lost(.unanswered))
    #expect(lab.ending(queued) == .unprocessed(.unsent))
    #expect(lab.told.last == .retired)
  }

  @Test("Any received bytes show that the server is alive", arguments: [true, false])
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

  @Test("After a request timed out a PING is sent: without a reply within a second no new requests are sent")
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
    lab.tick(.delivered)
    #expect(lab.has(.retired) && lab.session.isClosedToRequests)
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
    #expect(!well.session.isClosedToRequests && well.session.freeStreams == 100)
  }

  @Test("No PING is sent while no request is running")
  func quiet() throws {
    let quiet = try SessionLab.ready()
    #expect(quiet.session.deadline == nil)
  }
}
