// SPDX-License-Identifier: Apache-2.0

import Foundation
import Lastro
import LastroSimulation
import LastroTesting
import TestSupport
import Testing

@testable import LastroHTTP

@Suite("Dials, in virtual time")
struct VirtualDialTests {
  private let refusal = TransportError(stage: .connect, code: .connectFailed, message: "refused", hint: "listen")

  /// Sets the outcomes of dials in order: an open link to an echo server, or a failure, after a number of seconds.
  private func script(_ network: MemoryNetwork, _ outcomes: [(opens: Bool, seconds: Int)]) {
    network.dialing = { [refusal] _ in
      let (opens, seconds) = outcomes[network.dials.count - 1]
      guard opens else { return .failed(refusal, after: .seconds(seconds)) }
      return .open(after: .seconds(seconds)) { link in
        _ = MemoryHTTP1Server(link.far) { $0.respond($1.target, after: .seconds(10)) }
      }
    }
  }

  @Test("A failed dial fails the request that has waited longest, and the others are served by their own dials")
  func failure() {
    let engine = VirtualEngine()
    script(engine.network, [(false, 1), (true, 2), (true, 3)])
    let calls = (0..<3).map { engine.start(.to("/\($0)")) }
    engine.advance(by: .seconds(1))
    #expect(calls.map(\.words) == ["connect/connect_failed", "waiting", "waiting"])
    engine.advance(by: .seconds(12))
    #expect(calls[1...].map(\.text) == ["/1", "/2"])
    #expect(engine.network.dials.count == 3)
  }

  @Test("The first connection that opens serves the request that has waited longest, whichever started its dial")
  func race() {
    let engine = VirtualEngine()
    script(engine.network, [(true, 3), (true, 1), (true, 2)])
    let calls = (0..<3).map { engine.start(.to("/\($0)")) }
    var ends: [Duration?] = [nil, nil, nil]
    let start = engine.clock.now
    for _ in 0..<14 {
      engine.advance(by: .seconds(1))
      for (index, call) in calls.enumerated() where call.isOver && ends[index] == nil {
        ends[index] = engine.clock.now - start
      }
    }
    #expect(ends == [.seconds(11), .seconds(12), .seconds(13)])
    #expect(calls.map(\.text) == ["/0", "/1", "/2"])
  }

  @Test("A new connection that ends between its two checks fails its request with the reason of its end")
  func endsBetweenChecks() {
    let engine = VirtualEngine()
    let alert = TransportError(
      stage: .tls, code: .clientCertificateRequired, message: "the server requires a certificate", hint: nil,
      requestSent: true)
    engine.network.dialing = { _ in
      .open { link in link.checking = { [unowned link] in link.ended(.failed, alert) } }
    }
    let call = engine.start(.to("/", .post))
    #expect(call.words == "tls/client_certificate_required" && call.error?.requestSent == false)
    #expect(engine.network.dials.count == 1 && engine.network.openCount == 0)
  }

  @Test("A request takes a connection that becomes free before its dial ends, and the late connection becomes idle")
  func freedFirst() {
    let engine = VirtualEngine()
    script(engine.network, [(true, 0), (true, 30)])
    let first = engine.start(.to("/0"))
    engine.advance(by: .seconds(5))
    let second = engine.start(.to("/1"))
    engine.advance(by: .seconds(15))
    #expect(first.text == "/0" && second.text == "/1")
    engine.advance(by: .seconds(20))
    #expect(engine.network.openCount <= 2 && engine.activeJobs == 0)
    #expect(engine.start(.to("/2")).words == "waiting")
    #expect(engine.network.dials.count == 2)
  }

  @Test(
    "A connection that speaks or ends before its request costs one request, for which no other is dialed",
    arguments: [
      ("bytes", "response/malformed_response"), ("end", "response/connection_lost"),
      ("reset", "response/connection_lost"),
    ])
  func unusable(event: String, words: String) {
    let engine = VirtualEngine()
    engine.network.dialing = { _ in
      .open { link in
        switch event {
        case "bytes": link.arrived(Array("220 mail.example\r\n".utf8))
        case "end": link.ended(.end(isClean: true))
        default: link.ended(.failed)
        }
      }
    }
    let calls = (0..<3).map { engine.start(.to("/\($0)")) }
    #expect(calls.map(\.words) == Array(repeating: words, count: 3))
    #expect(calls.allSatisfy { $0.error?.requestSent == false })
    #expect(engine.network.dials.count == 3 && engine.network.openCount == 0)
  }

  @Test("A time limit of the dialer's own fails a request without limits, for which no other dial is started")
  func ownLimit() {
    let engine = VirtualEngine()
    engine.network.dialing = { _ in .failed(.dialTimedOut(within: .seconds(1)), after: .seconds(1)) }
    let call = engine.start(.to { $0.deadline = nil })
    engine.advance(by: .seconds(5))
    #expect(call.words == "timeout/connect_timeout" && engine.network.dials.count == 1)
  }

  @Test("No more dials to a host run at a time than allowed")
  func dialsPerHost() {
    let engine = VirtualEngine { $0.dialsPerHost = 2 }
    engine.network.echo(after: .seconds(1))
    let calls = (0..<6).map { engine.start(.to("/\($0)")) }
    #expect(engine.network.dials.count == 2)
    engine.advance(by: .seconds(5))
    #expect(calls.map(\.text) == (0..<6).map { "/\($0)" })
  }

  @Test("A link whose rules have changed carries no request, and another is dialed")
  func outdated() {
    let engine = VirtualEngine()
    engine.network.echo()
    _ = engine.start(.to())
    engine.network.links[0].isCurrent = false
    #expect(engine.start(.to("/again")).text == "/again")
    #expect(engine.network.links[0].isClosed && engine.network.dials.count == 2)
  }

  @Test("A request for which every link is outdated fails before any byte is sent")
  func neverCurrent() {
    let engine = VirtualEngine()
    engine.network.dialing = { _ in .open { $0.isCurrent = false } }
    let call = engine.start(.to())
    #expect(call.words == "trust/trust_refused" && call.error?.requestSent == false)
    #expect(engine.network.links.allSatisfy { $0.far.total == 0 && $0.isClosed })
  }

  @Test("A request that its link refuses fails with the reason, and the connection serves others")
  func refused() {
    let engine = VirtualEngine()
    engine.network.echo()
    _ = engine.start(.to())
    engine.network.links[0].admission = .refused(refusal)
    #expect(engine.start(.to()).words == "connect/connect_failed")
    engine.network.links[0].admission = nil
    #expect(engine.start(.to("/next")).text == "/next")
    #expect(engine.network.dials.count == 1)
  }

  @Test("A request waits while its links are checked, and a deadline ends that wait")
  func check() {
    let engine = VirtualEngine()
    engine.network.echo()
    engine.connector.mustCheck = true
    engine.connector.checkTime = .seconds(2)
    let call = engine.start(.to("/checked"))
    engine.advance(by: .seconds(2) - .nanoseconds(1))
    #expect(call.words == "waiting" && engine.network.dials.isEmpty)
    engine.advance(by: .nanoseconds(1))
    #expect(call.text == "/checked" && engine.connector.checks == 1)
    engine.connector.mustCheck = true
    let late = engine.start(.to { $0.deadline = .seconds(1) })
    engine.advance(by: .seconds(1))
    #expect(late.words == "timeout/total_timeout" && late.error?.requestSent == false)
    engine.connector.mustCheck = true
    let cancelled = engine.start(.to())
    engine.cancel(cancelled)
    engine.advance(by: .seconds(3))
    #expect(cancelled.words == "cancelled/cancelled" && engine.activeJobs == 0)
  }
}
