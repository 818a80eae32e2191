// SPDX-License-Identifier: Apache-2.0

import LastroTesting
import TestSupport
import Testing

@testable import Lastro

@Suite("Timeouts", .timeLimit(.minutes(15)))
struct TimeoutsTests {
  @Test("Omitted limits are the standard ones")
  func defaults() throws {
    #expect(try Timeouts() == .standard)
    #expect(try Timeouts(connect: .seconds(2)).connect == .seconds(2))
    #expect(try Timeouts(total: nil) == .streaming)
    #expect(try Timeouts(idle: nil).idle == nil)
  }

  @Test("A standard limit is reduced to a shorter enclosing limit; an explicit one is refused")
  func shorterWhole() throws {
    let short = try Timeouts(total: .seconds(3))
    #expect(short.total == .seconds(3) && short.connect == nil && short.idle == nil)
    let attempt = try Timeouts(attempt: .seconds(30))
    #expect(attempt.connect == .seconds(10) && attempt.idle == nil && attempt.total == .seconds(60))
    #expect(throws: ConfigurationError.self) { try Timeouts(connect: .seconds(4), total: .seconds(3)) }
    #expect(throws: ConfigurationError.self) { try Timeouts(idle: .seconds(61)) }
    #expect(throws: ConfigurationError.self) { try Timeouts(attempt: .seconds(90)) }
  }

  @Test("Changing one value keeps the others")
  func change() {
    var timeouts = Timeouts.standard
    timeouts.total = .seconds(5)
    #expect(timeouts.connect == .seconds(10) && timeouts.idle == .seconds(60) && timeouts.attempt == nil)
  }

  @Test(
    "A limit that was set to zero is refused before anything is sent", arguments: 0..<4,
    [Duration.zero, .seconds(-1)])
  func refused(limit: Int, value: Duration) async throws {
    let transport = ScriptedTransport(repeatingLast: .answer(200))
    let limits = [\Timeouts.connect, \.attempt, \.idle, \.total]
    let stack = TransportNetworkStack(transport) { $0.timeouts[keyPath: limits[limit]] = value }
    let error = try await stack.failure(of: .test())
    #expect(error.stage == .request && error.code == .invalidOption && error.description.contains("timeout is"))
    #expect(transport.requests.isEmpty)
  }

  @Test("A partial limit longer than the total has no effect")
  func longerPart() async throws {
    let transport = ScriptedTransport(repeatingLast: .answer(200))
    let stack = TransportNetworkStack(transport) { $0.timeouts.total = .seconds(5) }
    _ = try await stack.fetch(.test())
    #expect(transport.requests.first?.connectTimeout == .seconds(10))
    #expect(try #require(transport.requests.first?.deadline) <= .seconds(5))
  }
}
