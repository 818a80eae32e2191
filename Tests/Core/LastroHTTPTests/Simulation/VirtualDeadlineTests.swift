// SPDX-License-Identifier: Apache-2.0

import Foundation
import Lastro
import LastroSimulation
import LastroTesting
import TestSupport
import Testing

@testable import LastroHTTP

@Suite("Time limits of requests, in virtual time")
struct VirtualDeadlineTests {
  /// The stage at which a request stays.
  enum Stage: CaseIterable {
    case queued, dialing, head, body, upload
  }

  /// Returns an engine whose next request for `h` stays at a stage.
  private func engine(at stage: Stage) -> VirtualEngine {
    let engine = VirtualEngine { $0.connectionsPerHost = 1 }
    let network = engine.network
    switch stage {
    case .queued:
      network.serveHTTP1 { _, _ in }
      _ = engine.start(.to("/first"))
    case .dialing: break
    case .head: network.serveHTTP1 { _, _ in }
    case .body:
      network.serveHTTP1 { server, _ in server.far.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello") }
    case .upload:
      network.dialing = { _ in
        .open { link in
          link.far.accepts = false
          link.far.capacity = 10_000
        }
      }
    }
    return engine
  }

  private func request(at stage: Stage, _ edit: (inout TransferRequest) -> Void) -> TransferRequest {
    stage == .upload
      ? .to("/", .post, body: RequestBody(source: .bytes(Data(count: 100_000))), edit) : .to("/") { edit(&$0) }
  }

  @Test("A deadline ends a request at every stage, and not a nanosecond earlier", arguments: Stage.allCases)
  func deadline(stage: Stage) {
    let engine = engine(at: stage)
    let call = engine.start(request(at: stage) { $0.deadline = .seconds(5) })
    engine.advance(by: .seconds(5) - .nanoseconds(1))
    #expect(call.words == "waiting")
    engine.advance(by: .nanoseconds(1))
    #expect(call.words == "timeout/total_timeout")
    let wasSent = stage != .queued && stage != .dialing
    #expect(call.error?.requestSent == wasSent)
    #expect(engine.network.openCount == (stage == .queued ? 1 : 0))
    #expect(engine.network.cancelledDials == (stage == .dialing ? 1 : 0))
    engine.shutDown()
    #expect(engine.network.openCount == 0 && engine.activeJobs == 0)
  }

  @Test("An idle limit ends a request at every stage on a connection", arguments: [Stage.head, .body, .upload])
  func idle(stage: Stage) {
    let engine = engine(at: stage)
    let call = engine.start(request(at: stage) { $0.idleTimeout = .seconds(4) })
    engine.advance(by: .seconds(4) - .nanoseconds(1))
    #expect(call.words == "waiting")
    engine.advance(by: .nanoseconds(1))
    #expect(call.words == "timeout/idle_timeout")
    #expect(call.error?.requestSent == true)
    #expect(engine.network.openCount == 0)
  }

  @Test("An idle limit that stands for the limit of the first element names it", arguments: [Stage.head, .body])
  func firstElement(stage: Stage) {
    let engine = engine(at: stage)
    let call = engine.start(
      request(at: stage) {
        $0.idleTimeout = .seconds(4)
        $0.firstElement = FirstElementLimit(limit: .seconds(4), element: "event", option: "Options.first")
      })
    engine.advance(by: .seconds(4))
    #expect(call.words == "timeout/first_event_timeout")
    let place = stage == .head ? "waiting for the response" : "receiving the body"
    #expect(call.error?.message == "no event arrived within 4 s: no byte moved while \(place) from h")
    #expect(call.error?.hint == "raise Options.first if the server needs that long")
  }

  @Test("Silence after the first element is idle, even if the idle limit stands for that of the first element")
  func afterFirstElement() {
    let engine = engine(at: .body)
    let first = FirstElementLimit(limit: .seconds(4), element: "event", option: "Options.first")
    let call = engine.start(
      request(at: .body) {
        $0.idleTimeout = .seconds(4)
        $0.firstElement = first
      })
    first.markArrived()
    engine.advance(by: .seconds(4))
    #expect(call.words == "timeout/idle_timeout")
  }

  @Test("Every received byte restarts the idle limit")
  func progressOfResponse() {
    let engine = VirtualEngine()
    engine.network.serveHTTP1 { server, _ in
      server.far.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", after: .seconds(3))
      for second in 2...5 { server.far.send("x", after: .seconds(3 * second)) }
    }
    let call = engine.start(.to { $0.idleTimeout = .seconds(4) })
    engine.advance(by: .seconds(19) - .nanoseconds(1))
    #expect(call.words == "waiting")
    engine.advance(by: .nanoseconds(1))
    #expect(call.words == "timeout/idle_timeout")
  }

  @Test("An upload that the peer acknowledges slowly is not idle, and becomes idle once acknowledgements stop")
  func progressOfUpload() {
    let engine = VirtualEngine()
    engine.network.dialing = { _ in .open { link in link.far.accepts = false } }
    let call = engine.start(
      .to("/", .post, body: RequestBody(source: .bytes(Data(count: 100_000)))) { $0.idleTimeout = .seconds(4) })
    let far = engine.network.links[0].far
    for _ in 0..<10 {
      engine.advance(by: .seconds(3))
      far.accept(1_000)
    }
    #expect(call.words == "waiting")
    engine.advance(by: .seconds(4) - .nanoseconds(1))
    #expect(call.words == "waiting")
    engine.advance(by: .nanoseconds(1))
    #expect(call.words == "timeout/idle_timeout")
  }

  @Test("Without delivery reports an upload that was written at once is idle after its limit")
  func unknownDelivery() {
    let engine = VirtualEngine()
    engine.network.dialing = { _ in
      .open { link in
        link.far.accepts = false
        link.far.reportsDelivery = false
      }
    }
    let call = engine.start(
      .to("/", .post, body: RequestBody(source: .bytes(Data(count: 1_000)))) { $0.idleTimeout = .seconds(4) })
    engine.advance(by: .seconds(2))
    engine.network.links[0].far.accept(500)
    engine.advance(by: .seconds(2) - .nanoseconds(1))
    #expect(call.words == "waiting")
    engine.advance(by: .nanoseconds(1))
    #expect(call.words == "timeout/idle_timeout")
  }

  @Test("A connect limit ends a dial without an outcome, after a moment for the dialer's own report")
  func connectLimit() {
    let engine = VirtualEngine()
    let call = engine.start(.to { $0.connectTimeout = .seconds(2) })
    engine.advance(by: .seconds(2))
    #expect(call.words == "waiting")
    engine.advance(by: .milliseconds(50))
    #expect(call.words == "timeout/connect_timeout")
    #expect(call.error?.requestSent == false)
    #expect(engine.network.cancelledDials == 1)
  }

  @Test("A connect limit does not count the wait for another request's end")
  func connectLimitInQueue() {
    let engine = VirtualEngine { $0.connectionsPerHost = 1 }
    engine.network.echo(response: .seconds(30))
    let first = engine.start(.to("/1") { $0.connectTimeout = .seconds(2) })
    let second = engine.start(.to("/2") { $0.connectTimeout = .seconds(2) })
    engine.advance(by: .seconds(60))
    #expect(first.text == "/1" && second.text == "/2")
    #expect(engine.network.dials.count == 1)
  }

  @Test("A response in time ends all limits of its request")
  func inTime() {
    let engine = VirtualEngine()
    engine.network.echo(after: .seconds(1), response: .seconds(1))
    let call = engine.start(
      .to("/in-time") {
        $0.connectTimeout = .seconds(2)
        $0.idleTimeout = .seconds(2)
        $0.deadline = .seconds(3)
      })
    engine.advance(by: .seconds(2))
    #expect(call.text == "/in-time")
    engine.advance(by: .seconds(30))
    #expect(engine.network.openCount == 1 && engine.activeJobs == 0)
    #expect(call.response?.facts.timings.total == .seconds(2))
  }

  @Test("While a slow reader holds the response up, the idle limit does not run and the deadline does")
  func slowReader() {
    let engine = VirtualEngine { $0.streamBufferBytes = 1_000 }
    engine.network.serveHTTP1 { server, _ in
      server.far.send("HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n")
      for second in 1...5 { server.far.send(String(repeating: "x", count: 1_000), after: .seconds(second)) }
    }
    let call = engine.start(
      .to {
        $0.delivery = .streamed(maximumBytes: nil)
        $0.idleTimeout = .seconds(4)
        $0.deadline = .seconds(100)
      })
    #expect(call.status == 200)
    engine.advance(by: .seconds(100) - .nanoseconds(1))
    #expect(call.job.body?.isPaused == true && call.job.body?.isFinished == false)
    #expect(engine.activeJobs == 1 && engine.network.openCount == 1)
    engine.advance(by: .nanoseconds(1))
    #expect(call.job.body?.isFinished == true)
    #expect(engine.activeJobs == 0 && engine.network.openCount == 0)
  }
}
