// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import LastroSupport
import LastroTesting
import TestSupport
import Testing

@testable import LastroResilience

/// A server that usually responds in 20 ms, and takes a second for one request in a hundred. It is behind the transport
/// of a stack.
enum SlowPeer {
  static let rate = 200.0
  static let seconds = 60

  static func settings() throws -> [(name: String, policy: HedgingPolicy?)] {
    [
      ("none", nil),
      ("Polly in .NET: after 2 s", HedgingPolicy(delay: .fixed(.seconds(2)), budgetRatio: 1)),
      ("Lastro: after the 95th percentile, 5 %", .standard),
    ]
  }

  struct Result {
    var outcome = Outcome(seconds: seconds)
    var calls = 0
    var requests = 0

    /// The number of requests sent in addition to the calls, as a share of the calls.
    var extra: Double { Double(requests - calls) / Double(calls) }
  }

  private struct Server: Transport {
    let random: RandomSource
    let time: TimeSource
    let result: Lock<Result>

    func execute(_ request: TransferRequest) async throws(TransportError) -> TransferResponse {
      result.withLock { $0.requests += 1 }
      let length = random.unit() < 0.01 ? 1 : random.exponential(0.02)
      do { try await time.limit(.seconds(length)) } catch { throw .cancelled(requestSent: true) }
      return TransferResponse(head: HTTPResponse(status: .ok), body: .init(.init()))
    }
  }

  static func run(_ policy: HedgingPolicy?) -> Result {
    let tasks = SimulatedTasks()
    let time = tasks.clock.timeSource
    let random = RandomSource.seeded(5)
    let result = Lock(Result())
    let transport = ResilientTransport(
      over: Server(random: random, time: time, result: result),
      Resilience(hedger: policy.map { Hedger($0, time: time) }), time: time)
    let request = TransferRequest(
      head: HTTPRequest(method: .get, scheme: "https", authority: "api.example.org", path: "/"), allowsResend: true)
    _ = tasks.run {
      await withDiscardingTaskGroup { group in
        while time.now() < .seconds(seconds) {
          group.addTask {
            let start = time.now()
            guard (try? await transport.execute(request)) != nil else { return }
            let end = time.now()
            result.withLock { $0.outcome.good(at: end.inSeconds, latency: (end - start).inSeconds) }
          }
          result.withLock { $0.calls += 1 }
          try? await time.limit(.seconds(random.exponential(1 / rate)))
        }
      }
    }
    return result.withLock { $0 }
  }

  /// The results of all settings, computed once.
  static let results = Swift.Result { try settings().map { (name: $0.name, result: run($0.policy)) } }
}

@Suite("Slow peer, simulated", .ownThread, .timeLimit(.minutes(5)))
struct SlowPeerTests {
  @Test("If one request in a hundred takes a second, hedging keeps p99 below 100 ms with at most 6 % more requests")
  func hedging() throws {
    let results = try SlowPeer.results.get()
    let without = try #require(results.first).result
    #expect(without.outcome.percentile(0.99) > 0.1)
    let with = try #require(results.last).result
    #expect(with.outcome.latencies.count == with.calls)
    #expect(with.calls > 10_000)
    #expect(with.outcome.percentile(0.99) < 0.1)
    #expect(with.extra > 0.01)
    #expect(with.extra <= 0.06)
  }
}
