// SPDX-License-Identifier: Apache-2.0

import LastroTesting
import TestSupport
import Testing

@testable import Lastro
@testable import LastroHTTP

@Suite("Engines on one event loop", .timeLimit(.minutes(15)))
struct SharedLoopTests {
  @Test("A thousand transports run on one thread", .ownThread)
  func threads() async {
    // In a process of its own, in which no other test starts loops.
    await #expect(processExitsWith: .success) {
      let made = try await withThrowingTaskGroup(of: DialerTransport.self) { group in
        for _ in 0..<1_000 {
          group.addTask {
            let transport = try MemoryServer(answering: "HTTP/1.1 204 No\r\n\r\n").transport()
            #expect(try await transport.execute(.to()).head.status == .noContent)
            return transport
          }
        }
        return try await group.reduce(into: [DialerTransport]()) { $0.append($1) }
      }
      #expect(made.count == 1_000)
      let threads = try withExtendedLifetime(made) { try LoopThreads.count() }
      #expect(threads == 1)
    }
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
