// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroHTTP
import LastroTesting
import Testing

@testable import LastroSimulation

@Suite("GOAWAY of simulated servers")
struct SimulatedGoAwayTests {
  /// A network on which everything arrives at once.
  private final class InstantNetwork: MemoryLinkHost {
    let reactor = MemoryReactor()
    let now: Int64 = 1

    func after(_ delay: Duration, _ body: @escaping () -> Void) { body() }
    func linkClosed(_ link: MemoryLink) {}
  }

  /// A connection to a server that answers when the test says so.
  private final class Connection {
    private let network = InstantNetwork()
    private let link: MemoryLink
    private var session: HTTP2ServerSession?
    private(set) var requests: [LoopbackRequest] = []

    init() {
      link = MemoryLink(network, facts: LinkFacts(), isTLS: true)
      session = HTTP2ServerSession(link.far, number: 1) { [unowned self] request, _ in requests.append(request) }
      send(Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + LoopbackHTTP2Frame.settings([]).bytes)
    }

    private func send(_ bytes: [UInt8]) { _ = bytes.withUnsafeBytes { link.send($0) } }

    func get(stream: UInt32) {
      let fields = [":method": "GET", ":scheme": "https", ":authority": "api.example", ":path": "/\(stream)"]
      send(LoopbackHTTP2Frame.headers(fields.map { .init(name: $0, value: $1) }, stream: stream, ends: true).bytes)
    }

    func cancel(stream: UInt32) { send(LoopbackHTTP2Frame.resetStream(.cancel, stream: stream).bytes) }

    func respond(_ response: LoopbackResponse, to stream: UInt32) throws {
      session?.respond(response, to: try #require(requests.first { $0.stream == stream }))
    }

    /// Reads everything that has arrived. Returns whether the server has ended the connection.
    func hasEnded() -> Bool {
      let space = UnsafeMutableRawBufferPointer.allocate(byteCount: 4_096, alignment: 1)
      defer { space.deallocate() }
      while true {
        switch link.receive(into: space) {
        case .moved: continue
        case .wait: return false
        case .end(let isClean): return isClean
        case .failed: return false
        }
      }
    }
  }

  @Test("The server ends the connection when the last stream before GOAWAY is over", arguments: [false, true])
  func ends(isCancelled: Bool) throws {
    let connection = Connection()
    for stream in [1, 3] as [UInt32] { connection.get(stream: stream) }
    try connection.respond(.fault(.goAway), to: 3)
    #expect(!connection.hasEnded())
    if isCancelled { connection.cancel(stream: 1) } else { try connection.respond(.text("fine"), to: 1) }
    #expect(connection.hasEnded())
  }

  @Test("GOAWAY without another stream ends the connection at once, and one beside a stalled response does not")
  func alone() throws {
    let single = Connection()
    single.get(stream: 1)
    try single.respond(.fault(.goAway), to: 1)
    #expect(single.hasEnded())
    let stalled = Connection()
    for stream in [1, 3] as [UInt32] { stalled.get(stream: stream) }
    var response = LoopbackResponse.text("half")
    response.fault = .stallBody(after: 2)
    try stalled.respond(response, to: 1)
    try stalled.respond(.fault(.goAway), to: 3)
    #expect(!stalled.hasEnded())
  }
}
