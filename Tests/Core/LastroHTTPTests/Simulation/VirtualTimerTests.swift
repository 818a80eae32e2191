// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import LastroSimulation
import LastroTesting
import TestSupport
import Testing

@testable import LastroHTTP

@Suite("Timers within an exchange, in virtual time")
struct VirtualTimerTests {
  private func upload(_ count: Int, _ edit: (inout TransferRequest) -> Void = { _ in }) -> TransferRequest {
    .to("/", .post, body: RequestBody(source: .bytes(Data(count: count)))) { edit(&$0) }
  }

  @Test("A large body waits up to a second for 100 (Continue), and is sent at once when the server asks for it")
  func expectContinue() {
    let engine = VirtualEngine()
    var asks = false
    engine.network.dialing = { _ in
      .open { link in
        let server = MemoryHTTP1Server(link.far) { $0.respond("\($1.body.count)") }
        server.onHead = { server, request in
          guard asks, request.value("expect") == "100-continue" else { return }
          server.far.send("HTTP/1.1 100 Continue\r\n\r\n", after: .milliseconds(300))
        }
      }
    }
    asks = true
    let first = engine.start(upload(4 << 20))
    engine.advance(by: .milliseconds(300) - .nanoseconds(1))
    #expect(engine.network.links[0].far.total < 1_000)
    engine.advance(by: .nanoseconds(1))
    #expect(first.text == "\(4 << 20)")
    asks = false
    let total = engine.network.links[0].far.total
    let second = engine.start(upload(4 << 20))
    engine.advance(by: .seconds(1) - .nanoseconds(1))
    #expect(engine.network.links[0].far.total < total + 1_000)
    engine.advance(by: .nanoseconds(1))
    #expect(second.text == "\(4 << 20)")
    // The client does not ask again after the server has been silent once.
    #expect(engine.start(upload(4 << 20)).text == "\(4 << 20)")
  }

  @Test("After a complete response the rest of an upload is sent while the server accepts it, and for a second more")
  func grace() {
    let engine = VirtualEngine()
    engine.network.dialing = { _ in
      .open { link in
        link.far.capacity = 200_000
        let server = MemoryHTTP1Server(link.far) { _, _ in }
        server.onHead = { server, _ in
          server.far.accepts = false
          server.respond("early")
        }
      }
    }
    let call = engine.start(upload(500_000))
    let far = engine.network.links[0].far
    for _ in 0..<5 {
      engine.advance(by: .milliseconds(900))
      #expect(call.words == "waiting")
      far.accept(10_000)
      engine.settle()
    }
    engine.advance(by: .seconds(2))
    #expect(call.text == "early")
    #expect(engine.network.openCount == 0 && engine.activeJobs == 0)
  }

  @Test("Reading an error body ends at its time limit, and the status is reported")
  func errorBody() {
    let engine = VirtualEngine { $0.errorBodyTime = .seconds(2) }
    engine.network.serveHTTP1 { server, _ in
      server.far.send("HTTP/1.1 503 No\r\nContent-Length: 1000\r\n\r\npartial")
    }
    let call = engine.start(.to { $0 = TransferRequest(head: $0.head, maximumErrorBytes: 1_000) })
    engine.advance(by: .seconds(2) - .nanoseconds(1))
    #expect(call.words == "waiting")
    engine.advance(by: .nanoseconds(1))
    #expect(call.status == 503 && call.text == "partial" && call.response?.facts.bodyCut != nil)
    #expect(engine.network.openCount == 0)
  }

  @Test("A redirect waits a tenth of a second for its short body, whose connection is kept for another second")
  func redirect() {
    let engine = VirtualEngine()
    engine.network.serveHTTP1 { server, request in
      guard request.target != "/next" else { return server.respond("next") }
      server.far.send("HTTP/1.1 302 Found\r\nLocation: /next\r\nContent-Length: 4\r\n\r\n")
      if request.target == "/slow" { server.far.send("body", after: .milliseconds(600)) }
    }
    let slow = engine.start(.to("/slow") { $0.dropsRedirectBodies = true })
    engine.advance(by: .milliseconds(100) - .nanoseconds(1))
    #expect(slow.words == "waiting")
    engine.advance(by: .nanoseconds(1))
    #expect(slow.status == 302 && slow.text?.isEmpty == true)
    engine.advance(by: .milliseconds(500))
    #expect(engine.start(.to("/next")).text == "next")
    #expect(engine.network.dials.count == 1)
    let endless = engine.start(.to("/endless") { $0.dropsRedirectBodies = true })
    engine.advance(by: .milliseconds(100))
    #expect(endless.status == 302 && engine.network.openCount == 1)
    engine.advance(by: .seconds(1))
    #expect(engine.network.openCount == 0 && engine.activeJobs == 0)
  }

  @Test("The rest of a redirect's body is not read while another request waits for the connection")
  func redirectBesideWaiting() {
    let engine = VirtualEngine { $0.connectionsPerHost = 1 }
    engine.network.serveHTTP1 { server, request in
      guard request.target != "/next" else { return server.respond("next") }
      server.far.send("HTTP/1.1 302 Found\r\nLocation: /other\r\nContent-Length: 4\r\n\r\n")
    }
    let redirect = engine.start(.to("/endless") { $0.dropsRedirectBodies = true })
    let next = engine.start(.to("/next"))
    engine.advance(by: .milliseconds(100) - .nanoseconds(1))
    #expect(redirect.words == "waiting" && next.words == "waiting")
    engine.advance(by: .nanoseconds(1))
    #expect(redirect.status == 302 && next.text == "next")
    #expect(engine.network.dials.count == 2 && engine.network.openCount == 1)
  }

  @Test("A deadline that passes while the rest of a redirect's body is read does not affect the caller")
  func redirectDeadline() {
    let engine = VirtualEngine()
    engine.network.serveHTTP1 { server, _ in
      server.far.send("HTTP/1.1 302 Found\r\nLocation: /next\r\nContent-Length: 4\r\n\r\n")
    }
    let call = engine.start(
      .to {
        $0.dropsRedirectBodies = true
        $0.deadline = .milliseconds(500)
      })
    engine.advance(by: .seconds(2))
    #expect(call.status == 302)
    #expect(engine.network.openCount == 0 && engine.activeJobs == 0)
  }
}
