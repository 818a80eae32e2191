// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import LastroSimulation
import LastroTesting
import Testing

@Suite("Simulations", .timeLimit(.minutes(30)))
struct SimulationTests {
  /// Returns a simulation of one machine that fetches `https://api.example/a` once, and of the server.
  private func oneCall(
    http2: Bool = true, origin: String = "https://api.example",
    _ edit: @escaping @Sendable (SimulatedWorld) -> Void = { _ in },
    answer: @escaping @Sendable (LoopbackRequest) async throws -> LoopbackResponse
  ) -> Simulation {
    Simulation { world in
      try world.server(origin, http2: http2, answer: answer)
      world.machine("worker") { machine in
        machine.log(try await machine.stack().fetch(.text("\(origin)/a")).value)
      }
      world.require(.programsSucceed)
      edit(world)
    }
  }

  @Test("A call has the response of a server's closure, after the time that the closure sleeps")
  func sleepingServer() async throws {
    let trace = try await oneCall { request in
      try await Task.sleep(for: .seconds(20))
      return .text("hello \(request.target)")
    }.run(seed: 1)
    #expect(trace.lines.count == 1 && trace.lines[0].hasSuffix("worker: hello /a"), "\(trace.lines)")
    #expect(trace.duration > .seconds(20) && trace.duration < .seconds(21))
    #expect(trace.requests.map(\.url) == ["https://api.example/a"])
    #expect(trace.calls.map(\.status) == [200] && trace.requests.map(\.call) == [0])
  }

  @Test(
    "Versions of HTTP, with and without TLS", arguments: [true, false],
    ["https://api.example", "http://api.example:8080"])
  func versions(http2: Bool, origin: String) async throws {
    let body = String(repeating: "0123456789", count: 30_000)
    let trace = try await oneCall(http2: http2, origin: origin) { _ in .text(body) }.run(seed: 1)
    #expect(trace.lines.first?.hasSuffix("worker: \(body)") == true)
    #expect(trace.requests.map(\.url) == ["\(origin)/a"])
  }

  @Test("Request bodies arrive whole", arguments: [true, false])
  func uploads(http2: Bool) async throws {
    let body = Data((0..<200_000).map { UInt8(truncatingIfNeeded: $0) })
    let simulation = Simulation { world in
      try world.server("https://api.example", http2: http2) { request in
        LoopbackResponse(status: request.body == Array(body) ? 204 : 400)
      }
      world.machine("worker") { machine in
        let stack = machine.stack()
        let halves = AsyncStream { pieces in
          pieces.yield(body.prefix(70_000))
          pieces.yield(body.dropFirst(70_000))
          pieces.finish()
        }
        for given in [RequestBody.raw(body), .stream(halves)] {
          var request = try ResourceRequest(method: .put, url: "https://api.example/file")
          request.body = given
          _ = try await stack.fetch(.raw(request))
        }
      }
      world.require(.programsSucceed)
    }
    #expect(try await simulation.run(seed: 1).requests.map(\.status) == [204, 204])
  }

  @Test("Trailers of a simulated server arrive, after a body and without one", arguments: [true, false], ["fine", ""])
  func trailers(http2: Bool, body: String) async throws {
    let simulation = Simulation { world in
      try world.server("https://api.example", http2: http2) { _ in .text(body).addingTrailer("x-check", "42") }
      world.machine("worker") { machine in
        let facts = try await machine.stack().fetch(.text("https://api.example/a")).response.facts
        machine.log(facts.trailers.map { "\($0)" }.joined(separator: ", "))
      }
      world.require(.programsSucceed)
    }
    #expect(try await simulation.run(seed: 1).lines.map { $0.hasSuffix("worker: x-check: 42") } == [true])
  }

  @Test("Identifiers are those of the seed, and each is another one")
  func identifiers() async throws {
    let simulation = Simulation { world in
      world.machine("worker") { machine in
        for _ in 0..<4 { machine.log(UUID().uuidString) }
      }
    }
    let first = try await simulation.run(seed: 1)
    #expect(try await simulation.run(seed: 1) == first)
    #expect(try await simulation.run(seed: 2).lines != first.lines)
    let identifiers = first.lines.compactMap { $0.split(separator: " ").last }
    #expect(Set(identifiers).count == 4)
    // Version 4, RFC 9562 §5.4.
    for text in identifiers {
      #expect(text.dropFirst(14).first == "4" && "89AB".contains(text.dropFirst(19).prefix(1)))
    }
    // Outside of a simulation they are those of the system.
    #expect(UUID() != UUID() && !identifiers.contains { $0 == UUID().uuidString })
  }

  @Test("Each seed repeats its run to the last step, and other seeds differ")
  func repeats() async throws {
    let simulation = Simulation { world in
      world.conditions = LinkConditions(delay: .milliseconds(5), jitter: .milliseconds(20), loss: 0.1)
      try world.server("https://api.example", count: 2) { request in
        try await Task.sleep(for: .milliseconds(Int.random(in: 1...200)))
        return Int.random(in: 0..<4) == 0 ? LoopbackResponse(status: 503) : .text("\(Date())")
      }
      world.machine("worker", count: 3) { machine in
        let stack = machine.stack(StackConfiguration(interceptors: [.retry]))
        await withTaskGroup { group in
          for index in 0..<8 {
            group.addTask {
              let outcome = try? await stack.fetch(.text("https://api.example/\(index)")).value
              await MainActor.run { machine.log("\(index) \(outcome ?? "-") \(ContinuousClock.now)") }
            }
          }
        }
      }
    }
    var digests: Set<UInt64> = []
    for seed in 1...20 as ClosedRange<UInt64> {
      let first = try await simulation.run(seed: seed, faults: .random())
      let second = try await simulation.run(seed: seed, faults: .random())
      #expect(first == second)
      #expect(first.calls.count >= 24)
      digests.insert(first.digest)
    }
    #expect(digests.count == 20)
  }

  @Test("Clocks, dates and sleeps of the system have the simulation's time")
  func clocks() async throws {
    let simulation = Simulation { world in
      world.machine("worker") { machine in
        let (date, instant, suspending) = (Date(), ContinuousClock.now, SuspendingClock.now)
        try await Task.sleep(for: .seconds(90))
        try await Task.sleep(nanoseconds: 10_000_000_000)
        try await ContinuousClock().sleep(until: .now + .seconds(5))
        machine.log(
          "\(Date().timeIntervalSince(date)) \(ContinuousClock.now - instant) \(SuspendingClock.now - suspending)")
        machine.log("\(machine.timeSource.sinceEpoch())")
        machine.log("\(TimeSource.continuous.now())")
      }
    }
    let trace = try await simulation.run(seed: 3)
    #expect(
      trace.lines == [
        "105.000 s worker: 105.0 105.0 seconds 105.0 seconds", "105.000 s worker: 1000000105.0 seconds",
        "105.000 s worker: 1105.0 seconds",
      ])
  }

  @Test("A program that waits for a thread fails, and never continues")
  func foreignThread() async throws {
    let continued = EventRecorder<String>()
    let resumed = EventRecorder<String>()
    let simulation = Simulation { world in
      world.machine("worker") { machine in
        await withCheckedContinuation { continuation in
          Thread.detachNewThread {
            Thread.sleep(forTimeInterval: 0.2)
            continuation.resume()
            resumed.record("resumed")
          }
        }
        continued.record("continued")
      }
    }
    let failure = await #expect(throws: SimulationFailure.self) { try await simulation.run(seed: 1) }
    #expect(failure?.property == "everyProgramEnds" && failure?.violation.hasPrefix("worker waits for") == true)
    try await resumed.waitForEvents(count: 1)
    #expect(continued.events.isEmpty)
    // Another simulation is not disturbed.
    #expect(try await oneCall { _ in .text("fine") }.run(seed: 1).calls.count == 1)
  }

  @Test("A thread that resumes a task while the simulation runs ends it with an error that says so")
  func disturbance() async throws {
    let simulation = Simulation(limit: .seconds(50_000)) { world in
      // The thread resumes the task after the task has suspended: what never suspends is not noticed.
      let hasSuspended = DispatchSemaphore(value: 0)
      world.machine("worker") { _ in
        await withCheckedContinuation { continuation in
          Thread.detachNewThread {
            hasSuspended.wait()
            continuation.resume()
          }
        }
      }
      world.machine("busy") { _ in
        try await Task.sleep(for: .seconds(1))
        hasSuspended.signal()
        while true { try await Task.sleep(for: .milliseconds(1)) }
      }
    }
    let error = await #expect(throws: ConfigurationError.self) { try await simulation.run(seed: 1) }
    #expect(error?.message.contains("a thread outside of the simulation") == true)
  }

  @Test("A server with two workers answers two requests at once, and others in the order of their arrival")
  func workers() async throws {
    let simulation = Simulation { world in
      try world.server("https://api.example", workers: 2) { request in
        try await Task.sleep(for: .seconds(1))
        return .text(request.target)
      }
      world.machine("worker") { machine in
        let retry = HTTPRetryPolicy.backoff(.constant(delay: .seconds(1), until: .maxRetries(2)))
        let stack = machine.stack(StackConfiguration(interceptors: [.retry(retry)]))
        try await withThrowingTaskGroup { group in
          for number in 0..<6 {
            group.addTask {
              try await Task.sleep(for: .milliseconds(10 * number))
              machine.log(try await stack.fetch(.text("https://api.example/\(number)")).value)
            }
          }
          try await group.waitForAll()
        }
      }
      world.require(.programsSucceed)
    }
    let trace = try await simulation.run(seed: 1)
    #expect(trace.lines.map { $0.split(separator: " ").last } == (0..<6).map { "/\($0)" })
    let ends = trace.calls.compactMap { $0.end?.components.seconds }
    #expect(ends == [1, 1, 2, 2, 3, 3])
    // A crash ends the queue: the server that was started again has free workers.
    let crashed = try await simulation.run(
      seed: 1, faults: .exactly([.crash("api.example", at: .milliseconds(500), restartAfter: .milliseconds(100))]))
    #expect(crashed.requests.count == 12 && crashed.calls.allSatisfy(\.hasSucceeded))
  }

  @Test("Worlds that cannot run are refused")
  func refusals() async throws {
    await #expect(throws: ConfigurationError.self) {
      try await Simulation { world in try world.server("https://api.example") { _ in .text("") } }.run(seed: 1)
    }
    await #expect(throws: ConfigurationError.self) {
      try await Simulation { world in try world.server("api.example") { _ in .text("") } }.run(seed: 1)
    }
    await #expect(throws: ConfigurationError.self) {
      try await Simulation { world in
        world.conditions.loss = 1
        world.machine("worker") { _ in }
      }.run(seed: 1)
    }
    await #expect(throws: ConfigurationError.self) { try await oneCall { _ in .text("") }.run(seed: 1, instances: 0) }
    await #expect(throws: ConfigurationError.self) {
      try await Simulation { world in try world.server("https://api.example", workers: 0) { _ in .text("") } }.run(
        seed: 1)
    }
  }

  @Test("A program that never ends fails at the limit of virtual time")
  func limit() async throws {
    let simulation = Simulation(limit: .seconds(60)) { world in
      world.machine("worker") { _ in while true { try await Task.sleep(for: .seconds(1)) } }
    }
    let failure = await #expect(throws: SimulationFailure.self) { try await simulation.run(seed: 1) }
    #expect(failure?.violation == "worker did not end within 60.0 seconds")
  }
}
