// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import Lastro
import LastroTesting
import TestSupport
import Testing

@testable import LastroCommand

@Suite("The pace of --limit-rate", .timeLimit(.minutes(15)))
struct LimitRateTests {
  /// Returns the waits while a body of 4, 2 and 6 bytes is taken.
  private func waits(bytesPerSecond: Int?, arriving delay: Duration = .zero) async throws -> [Duration] {
    let clock = ManualClock(autoAdvance: true)
    var runner = Runner(stack: TransportNetworkStack(ScriptedTransport([.stream(["abcd", "ef", "ghijkl"])])))
    runner.bytesPerSecond = bytesPerSecond
    runner.time = clock.timeSource
    let sink = ResponseOutput(.memory, hashes: false)
    let report = try await runner.run(RequestSpecification(url: "http://a.test/"), into: sink) { _, _ in
      clock.advance(by: delay)
    }
    #expect(report.error == nil && sink.kept == Data("abcdefghijkl".utf8))
    return clock.sleeps
  }

  @Test("After each piece of a body the wait is as long as its bytes take at the rate")
  func paced() async throws {
    #expect(try await waits(bytesPerSecond: 2) == [.seconds(2), .seconds(1), .seconds(3)])
    #expect(try await waits(bytesPerSecond: 8) == [.milliseconds(500), .milliseconds(250), .milliseconds(750)])
  }

  @Test("The time in which a piece arrives counts, and a server that is slower than the rate is not waited for")
  func slow() async throws {
    #expect(
      try await waits(bytesPerSecond: 2, arriving: .seconds(1)) == [.seconds(1), .seconds(2)])
    #expect(try await waits(bytesPerSecond: 2, arriving: .seconds(4)) == [])
  }

  @Test("Without a rate there is no wait")
  func unlimited() async throws { #expect(try await waits(bytesPerSecond: nil) == []) }

  @Test("--limit-rate is the rate of the transfers")
  func flag() throws {
    #expect(try FetchCommand.parse(["--limit-rate", "3k", "http://a.test/"]).transfers.rate == 3072)
  }
}
