// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import LastroHTTP
import LastroSupport
import LastroTesting
import TestSupport
import Testing

@testable import LastroCurl

@Suite("Connection observer", .timeLimit(.minutes(15)))
struct ConnectionObserverTests {
  @Test(
    "The observer is called when a connection is opened, used, idle and closed",
    arguments: [ConnectionOptions.HTTPVersion.http1, .http2])
  func states(version: ConnectionOptions.HTTPVersion) async throws {
    let server =
      try version == .http1 ? LoopbackServer.http { _ in .text("fine") } : LoopbackServer.http2 { _ in .text("fine") }
    let told = Lock<[ConnectionChange]>([])
    var configuration = CurlConfiguration()
    configuration.connection.httpVersion = version
    configuration.connectionObserver = { change in told.withLock { $0.append(change) } }
    let engine = try CurlTransport(configuration)
    for _ in 0..<2 { #expect(await engine.outcome(server) == .answered(200, "fine")) }
    await engine.shutDown(cancelling: true)
    let changes = told.withLock { $0 }
    let words = changes.map { "\($0.from?.rawValue ?? "-") \($0.to?.rawValue ?? "-")" }
    #expect(words.first == "- active" && words.last?.hasSuffix(" -") == true)
    #expect(words.count { $0 == "active idle" || $0 == "idle active" } >= 3)
    #expect(zip(changes, changes.dropFirst()).allSatisfy { $0.to == $1.from && $0.age <= $1.age })
    #expect(changes.allSatisfy { $0.origin.port == server.port })
  }

  @Test("Connections of a dialer are not reported, even if HTTP over the dialer uses the engine's limits")
  func dialers() async throws {
    let server = try LoopbackServer.http { _ in .text("fine") }
    let changes = Lock(0)
    var configuration = CurlConfiguration()
    configuration.connection.proxy = .none
    configuration.connectionObserver = { _ in changes.withLock { $0 += 1 } }
    let engine = try CurlTransport(configuration)
    let transport = try DialerTransport(over: engine, configuration: engine.exchange)
    let answer = try await transport.execute(.to(server, "/"))
    #expect(answer.body.bytes == Data("fine".utf8))
    #expect(changes.withLock { $0 } == 0)
    _ = try await engine.execute(.to(server, "/"))
    #expect(changes.withLock { $0 } > 0)
  }

  @Test("A connection to a forward proxy is reported with the proxy's origin, without its password")
  func proxy() throws {
    let key = HostKey(
      TransferRequest(head: HTTPRequest(method: .get, scheme: "http", authority: "a.example", path: "/")))
    for url in ["http://user:p%40ss@proxy.example:3128/", "proxy.example:3128"] {
      #expect(ForwardProxy(url, for: key)?.origin?.description == "http://proxy.example:3128")
    }
    #expect(ForwardProxy("https://[::1]:3128", for: key)?.origin?.description == "https://[::1]:3128")
  }
}
