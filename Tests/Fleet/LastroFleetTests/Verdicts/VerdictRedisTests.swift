// SPDX-License-Identifier: Apache-2.0

import CurlSupport
import FoundationEssentials
import HTTPTypes
import Lastro
import LastroFleet
import LastroResilience
import LastroSupport
import LastroTesting
import Logging
import PeerSupport
import TestSupport
import Testing

@Suite("Redis: one verdict for several instances", .timeLimit(.minutes(15)))
struct VerdictRedisTests {
  private struct Instance {
    let stack: TransportNetworkStack
    let transport: ScriptedTransport
    let log: LogLines

    /// Returns the code of a call's failure.
    func call() async throws -> FailureCode? {
      let resource = RawHTTPResource.raw(try ResourceRequest(url: "https://api.example.org/"))
      do {
        _ = try await stack.fetch(resource)
        return nil
      } catch {
        return error.code
      }
    }
  }

  private let status = Lock(HTTPResponse.Status.internalServerError)

  /// Returns an instance with a connection of its own.
  private func instance(
    _ peer: RedisPeer, minimumCalls: Int = 10, timeout: Duration = .seconds(60)
  ) throws -> Instance {
    let store = try RedisStore(
      ["redis://127.0.0.1:\(peer.port)"], dialer: try TestAuthority.engine(), timeout: timeout)
    let log = LogLines()
    let breaker = try CircuitBreaker(
      minimumCalls: minimumCalls, breakDuration: .milliseconds(500), maximumBreakDuration: .seconds(2), probes: 1
    ).shared(in: store, as: "shop", logger: Logger(label: "fleet") { _ in log })
    var configuration = StackConfiguration()
    configuration.resilience = Resilience(breaker: breaker)
    let transport = ScriptedTransport { [status] _, _ throws(TransportError) in
      TransferResponse(head: HTTPResponse(status: status.withLock { $0 }), body: ResponseBody(Data()))
    }
    return Instance(
      stack: TransportNetworkStack(transport: transport, configuration: configuration), transport: transport, log: log)
  }

  @Test("Nineteen instances with too few attempts of their own open because of another one, and all close again")
  func fleet() async throws {
    let peer = try await RedisPeer.start()
    let first = try instance(peer)
    let others = try (0..<19).map { _ in try instance(peer, minimumCalls: 1_000_000) }
    for other in others {
      #expect(
        try await eventually {
          _ = try await first.call()
          return try await other.call() == .circuitOpen
        })
    }
    status.withLock { $0 = .ok }
    for instance in others + [first] { #expect(try await eventually { try await instance.call() == nil }) }
    #expect((others + [first]).allSatisfy { $0.log.all.isEmpty })
  }

  @Test("A server that is killed, stopped or full refuses no call that one instance alone would send")
  func losses() async throws {
    let peer = try await RedisPeer.start("--maxmemory-policy", "noeviction")
    let one = try instance(peer, timeout: .milliseconds(500))
    status.withLock { $0 = .ok }
    func expectLines(_ count: Int) async throws {
      var failure: FailureCode?
      let isMet = try await eventually {
        if let code = try await one.call() { failure = code }
        return one.log.all.count == count
      }
      #expect(isMet && failure == nil, "\(one.log.all), \(failure as Any)")
    }
    _ = try await one.call()
    peer.pause()
    try await expectLines(1)
    peer.resume()
    try await expectLines(2)
    peer.stop()
    try await expectLines(3)
    // Without the store, the circuit opens and closes by itself.
    status.withLock { $0 = .internalServerError }
    #expect(try await eventually { try await one.call() == .circuitOpen })
    status.withLock { $0 = .ok }
    #expect(try await eventually { try await one.call() == nil })
    try await peer.restart()
    try await expectLines(4)
    try peer.command("CONFIG", "SET", "maxmemory", "1")
    status.withLock { $0 = .internalServerError }
    #expect(try await eventually { try await one.call() == .circuitOpen })
    status.withLock { $0 = .ok }
    #expect(try await eventually { try await one.call() == nil })
    #expect(await eventually { one.log.all.count == 5 }, "\(one.log.all)")
    #expect(one.log.all.map { $0.prefix(7) } == ["warning", "notice:", "warning", "notice:", "warning"])
  }
}
