// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import LastroCurl
import LastroResilience
import LastroTesting

private func standard() throws -> CurlNetworkStack {
  // sample: standard
  var configuration = StackConfiguration()
  configuration.resilience = .standard()
  let stack = try CurlNetworkStack(configuration: configuration)
  // end
  return stack
}

private func use(_ nightly: Pacer) -> RequestOptions {
  // sample: use
  var options = RequestOptions()
  options.resilience = .none
  options.resilience = .with(Resilience(pacer: nightly))
  // end
  return options
}

private func observed() async throws {
  var configuration = StackConfiguration(interceptors: [.retry])
  configuration.timeSource = ManualClock(autoAdvance: true).timeSource
  configuration.resilience = Resilience(breaker: try CircuitBreaker(minimumCalls: 2))
  let transport = ScriptedTransport(repeatingLast: .respond(status: 503))
  let stack = TransportNetworkStack(transport: transport, configuration: configuration)
  // sample: events
  do {
    _ = try await stack.fetch(.raw(try ResourceRequest(url: "https://api.example.org/")))
  } catch let error as HTTPFetchError<any Error> {
    for attempt in error.ledger.attempts {
      for note in attempt.facts?.notes ?? [] { print("attempt \(attempt.number): \(note.text)") }
    }
  }
  // end
}

private func breaker() async throws {
  let transport = ScriptedTransport { _ throws(TransportError) in
    throw TransportError(stage: .connect, code: .connectFailed, message: "the server is down")
  }
  // sample: breaker
  let breaker = try CircuitBreaker(minimumCalls: 4, failureRatio: 0.5)
  var configuration = StackConfiguration()
  configuration.resilience = Resilience(breaker: breaker)
  let stack = TransportNetworkStack(transport: transport, configuration: configuration)
  for _ in 0..<6 {
    do {
      _ = try await stack.fetch(.raw(try ResourceRequest(url: "https://api.example.org/")))
    } catch let error as HTTPFetchError<any Error> {
      print("\(error.stage)/\(error.code)")
    }
  }
  print("\(transport.requests.count) were sent")
  // end
}

private func limits() throws -> StackConfiguration {
  var configuration = StackConfiguration()
  // sample: limits
  let limiter = try ConcurrencyLimiter(initial: 20, range: 1...200)
  let pacer = try Pacer(perSecond: 50, burst: 10)
  configuration.resilience = Resilience(pacer: pacer, limiter: limiter)
  // end
  return configuration
}

private func hedging() async throws {
  let transport = ScriptedTransport([.hang, .respond(status: 200)])
  // sample: hedging
  let hedger = try Hedger(delay: .percentile(0.95, fallback: .milliseconds(50)))
  var configuration = StackConfiguration()
  configuration.resilience = Resilience(hedger: hedger)
  let stack = TransportNetworkStack(transport: transport, configuration: configuration)
  let answer = try await stack.fetch(.raw(try ResourceRequest(url: "https://api.example.org/")))
  print("\(transport.requests.count) were sent, the hedge \(answer.response.facts.notes.map(\.detail))")
  // end
}

private func endpoints(_ stack: TransportNetworkStack) async throws {
  // sample: endpoints
  let apis = try EndpointSet(["https://eu.example.org"], backups: ["https://us.example.org"])
  let notes = try await apis.withEndpoint { origin in
    try await stack.fetch(.raw(try ResourceRequest(url: "\(origin)/notes"))).value
  }
  // end
  _ = notes
}

private func faults() async throws {
  let transport = ScriptedTransport(repeatingLast: .respond(status: 200, body: "[]"))
  var configuration = StackConfiguration(interceptors: [.retry])
  configuration.timeSource = ManualClock(autoAdvance: true).timeSource
  configuration.randomSource = .constant(0)
  // sample: faults
  configuration.faults = [
    try FaultRule("slow search", .delay(.seconds(2)), path: "/search", share: 0.1),
    try FaultRule("busy", .respond(status: .serviceUnavailable), host: "api.example.org", every: 2),
    try FaultRule("lost", .fail(.connectionLost), method: .post),
    try FaultRule("cut", .cutBody(after: 1000), path: "/files/"),
  ]
  // end
  let stack = TransportNetworkStack(transport: transport, configuration: configuration)
  // sample: injected
  for _ in 0..<2 {
    let ledger = try await stack.fetch(.get("https://api.example.org/notes")).response.ledger
    for attempt in ledger.attempts {
      print(attempt.status?.code ?? 0, attempt.facts?.notes.map(\.text) ?? [])
    }
  }
  // end
}

private func replaced(
  _ stack: TransportNetworkStack, _ breaker: CircuitBreaker, _ limiter: ConcurrencyLimiter, _ pacer: Pacer
) throws {
  let authenticator = try StandardInterceptor.basic(user: "a", password: "b", origins: [Origin("https://a.example")])
  let fewRetries = try HTTPRetryPolicy.standard(attempts: 2)
  // sample: rules
  try stack.reconfigure {
    $0.timeouts.total = .seconds(5)
    $0.interceptors = [authenticator, .retry(fewRetries)]
  }
  breaker.adoptRules(of: try CircuitBreaker(failureRatio: 0.25, breakDuration: .seconds(10)))
  limiter.adoptRules(of: try ConcurrencyLimiter(limit: 50))
  try pacer.adoptRules(of: try Pacer(perSecond: 20, burst: 5))
  // end
}

extension Page {
  static let keepingUp = Page("KeepingUp") { stage in
    let transport = ScriptedTransport { _ throws(TransportError) in
      TransferResponse(head: HTTPResponse(status: .ok), body: ResponseBody(Data()))
    }
    _ = try standard()
    _ = use(try Pacer())
    try await endpoints(TransportNetworkStack(transport: transport, configuration: try limits()))
    try replaced(TransportNetworkStack(transport: transport), CircuitBreaker(), ConcurrencyLimiter(), Pacer())
    try await stage.prints("breaker") { try await breaker() }
    try await stage.prints("events") { try await observed() }
    try await stage.prints("injected") { try await faults() }
    try await stage.prints("hedging") { try await hedging() }
  }
}
