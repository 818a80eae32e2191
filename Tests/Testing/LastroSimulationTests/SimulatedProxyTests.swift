// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro
import LastroSimulation
import LastroTesting
import Testing

@Suite("Proxies in simulations", .timeLimit(.minutes(30)))
struct SimulatedProxyTests {
  /// Returns a simulation of a worker behind a proxy. It fetches every second for half a minute, and logs each outcome.
  private func polling(
    _ origin: String, proxy: String = "http://proxy.example:3128", as client: String = "http://proxy.example:3128",
    bypass: [String] = []
  ) -> Simulation {
    Simulation { world in
      try world.proxy(proxy)
      try world.server(origin) { request in .text("\(request.target) \(request.headers["Host"] ?? "")") }
      world.machine("worker") { machine in
        var connection = ConnectionOptions()
        connection.proxy = .url(client, bypass: bypass)
        var configuration = StackConfiguration()
        configuration.timeouts.total = .seconds(5)
        let stack = machine.stack(configuration, connection: connection)
        for _ in 0..<30 {
          do throws(HTTPFetchError<TextAPIError>) {
            machine.log(try await stack.fetch(.text("\(origin)/a?b")).value)
          } catch {
            machine.log("\(error.stage.rawValue)/\(error.code)")
          }
          try await Task.sleep(for: .seconds(1))
        }
      }
      world.require(.programsSucceed)
    }
  }

  /// Returns the different outcomes of a worker, in order.
  private func outcomes(_ trace: SimulationTrace) -> [String] {
    var outcomes: [String] = []
    for line in trace.lines {
      let parts = line.split(separator: " worker: ", maxSplits: 1)
      if parts.count == 2, outcomes.last != String(parts[1]) { outcomes.append(String(parts[1])) }
    }
    return outcomes
  }

  @Test("A proxy forwards requests for http with their whole URLs, and the server sees the call once")
  func forwarded() async throws {
    let trace = try await polling("http://api.example:8080").run(seed: 1)
    #expect(outcomes(trace) == ["/a?b api.example:8080"])
    #expect(trace.calls.count == 30 && trace.requests.compactMap(\.call) == Array(0..<30))
  }

  @Test("Requests for https go through a tunnel, whose two halves have the faults of the proxy's links")
  func tunnel() async throws {
    let trace = try await polling("https://api.example").run(
      seed: 1,
      faults: .exactly([
        .partition("worker", "api.example", at: .milliseconds(5_500), for: .seconds(5)),
        .partition("proxy.example", "api.example", at: .milliseconds(15_500), for: .seconds(20)),
      ]))
    #expect(trace.calls.count == 30 && trace.requests.first?.url == "https://api.example/a?b")
    let failed = trace.calls.filter { !$0.hasSucceeded }
    #expect(!failed.isEmpty && failed.allSatisfy { $0.failure?.hasPrefix("timeout/") == true })
    // The worker and the server have no direct connection.
    #expect(failed.allSatisfy { $0.start > .seconds(15) && $0.start < .seconds(36) })
    #expect(trace.calls.last?.hasSucceeded == true)
  }

  @Test("The crash of a proxy resets its connections, and refuses others until it is restarted")
  func crash() async throws {
    for origin in ["https://api.example", "http://api.example"] {
      let trace = try await polling(origin).run(
        seed: 1, faults: .exactly([.crash("proxy.example", at: .milliseconds(10_500), restartAfter: .seconds(5))]))
      let failed = trace.calls.filter { !$0.hasSucceeded }
      #expect(failed.count == 5, "\(trace.lines)")
      #expect(failed.allSatisfy { $0.failure?.hasPrefix("proxy/proxy_connect_failed") == true })
      #expect(failed.allSatisfy { $0.start > .seconds(10) && $0.start < .seconds(16) })
    }
  }

  @Test("A proxy asks for user and password, for requests and for tunnels")
  func credentials() async throws {
    for origin in ["https://api.example", "http://api.example"] {
      let own = "http://worker:s%20cret@proxy.example:3128"
      #expect(outcomes(try await polling(origin, proxy: own).run(seed: 1)) == ["proxy/proxy_refused"])
      let wrong = polling(origin, proxy: own, as: "http://worker:secret@proxy.example:3128")
      #expect(outcomes(try await wrong.run(seed: 1)) == ["proxy/proxy_refused"])
      #expect(outcomes(try await polling(origin, proxy: own, as: own).run(seed: 1)) == ["/a?b api.example"])
    }
  }

  @Test("A proxy that cannot be found, a server that it cannot reach, and hosts that need no proxy")
  func unreachable() async throws {
    let missing = polling("https://api.example", as: "http://other.example:3128")
    #expect(outcomes(try await missing.run(seed: 1)) == ["proxy/proxy_not_found"])
    let down = SimulatedFault.crash("api.example", at: .zero, restartAfter: .seconds(60))
    let tunnel = try await polling("https://api.example").run(seed: 1, faults: .exactly([down]))
    #expect(outcomes(tunnel) == ["proxy/proxy_refused"])
    let forwarded = try await polling("http://api.example").run(seed: 1, faults: .exactly([down]))
    #expect(outcomes(forwarded) == ["http/unexpected_status"] && forwarded.calls.allSatisfy { $0.status == 502 })
    let bypassed = polling("https://api.example", as: "http://other.example:3128", bypass: ["example"])
    #expect(outcomes(try await bypassed.run(seed: 1)) == ["/a?b api.example"])
  }

  @Test("Proxies of other kinds are refused")
  func refusals() async throws {
    await #expect(throws: ConfigurationError.self) {
      try await Simulation { world in try world.proxy("socks5://proxy.example") }.run(seed: 1)
    }
    let other = polling("https://api.example", as: "https://proxy.example:3128")
    #expect(outcomes(try await other.run(seed: 1)) == ["request/invalid_option"])
  }
}
