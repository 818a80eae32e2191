// SPDX-License-Identifier: Apache-2.0

import LastroTesting
import TestSupport
import Testing

@testable import Lastro
@testable import LastroHTTP

@Suite("Engines on one event loop", .serialized, .timeLimit(.minutes(5)))
struct SharedLoopTests {
  @Test("A thousand transports run on one thread")
  func threads() async throws {
    let first = try EventLoop.shared()
    let made = try await withThrowingTaskGroup(of: (DialerTransport, ObjectIdentifier).self) { group in
      var made: [(DialerTransport, ObjectIdentifier)] = []
      for number in 0..<1_000 {
        // A few at a time, because other tests share the threads of tasks.
        if number >= 16, let next = try await group.next() { made.append(next) }
        group.addTask {
          let server = MemoryServer(answering: "HTTP/1.1 204 No\r\n\r\n")
          let transport = try server.transport()
          #expect(try await transport.execute(.to()).head.status == .noContent)
          return (transport, ObjectIdentifier(try EventLoop.shared()))
        }
      }
      return try await group.reduce(into: made) { $0.append($1) }
    }
    #expect(made.count == 1_000)
    #expect(Set(made.map(\.1)) == [ObjectIdentifier(first)])
  }

  @Test("A transport with a test clock has its own loop, which ends with the transport")
  func ownLoop() async throws {
    weak var loop: EventLoop?
    do {
      let clock = ManualClock()
      let own = try EventLoop.forHTTP(over: MemoryServer(answering: "").dialer, time: LoopTime(clock.timeSource))
      loop = own
      #expect(own !== (try EventLoop.shared()))
      #expect(own.now == clock.now.nanoseconds)
      clock.advance(by: .seconds(3))
      #expect(own.now == 3_000_000_000)
    }
    #expect(loop == nil)
  }
}
