// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import LastroCurl
import LastroResilience
import LastroTesting

private func standard(_ engine: any Transport) -> TransportNetworkStack {
  // sample: standard
  let transport = ResilientTransport(over: engine, .standard())
  let stack = TransportNetworkStack(transport: transport)
  // end
  return stack
}

private func breaker() async throws {
  let transport = ScriptedTransport { _ throws(TransportError) in
    throw TransportError(stage: .connect, code: .connectFailed, message: "the server is down")
  }
  // sample: breaker
  let policy = try CircuitBreakerPolicy(minimumCalls: 4, failureRatio: 0.5)
  let resilience = Resilience(breaker: CircuitBreaker(policy: policy))
  let stack = TransportNetworkStack(transport: ResilientTransport(over: transport, resilience))
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

private func limits(_ engine: any Transport) throws -> ResilientTransport {
  // sample: limits
  let limiter = try ConcurrencyLimiter(.aimd(initial: 20, range: 1...200))
  let pacer = Pacer(PacingPolicy(pace: try .init(perSecond: 50, burst: 10)))
  let transport = ResilientTransport(over: engine, Resilience(pacer: pacer, limiter: limiter))
  // end
  return transport
}

private func endpoints(_ stack: TransportNetworkStack) async throws {
  // sample: endpoints
  let apis = try EndpointSet([
    try Endpoint("https://eu.example.org"), try Endpoint("https://us.example.org", tier: 1),
  ])
  let lease = apis.lease()
  let start = ContinuousClock.now
  let answer = try await stack.fetch(.raw(try ResourceRequest(url: "\(lease.origin)/notes")))
  let outcome = AttemptOutcome(status: answer.response.status)
  lease.end(outcome.verdict, latency: start.duration(to: .now))
  // end
  print(apis.health().map(\.inUse))
}

private func egress() throws {
  // sample: egress
  var policy = EgressPolicy.publicInternet
  policy.allowing = [try EgressRange("10.20.0.0/16", ports: 443...443)]
  for address in ["93.184.216.34", "169.254.169.254", "::ffff:127.0.0.1", "10.20.3.4"] {
    print(address, try policy.verdict(on: address, port: 443))
  }
  // end
}

private func fetchingWhatUsersName() async throws {
  // sample: guarded
  var configuration = CurlConfiguration()
  configuration.connection.egress = .publicInternet
  let stack = try CurlNetworkStack(configuration)
  do {
    _ = try await stack.fetch(.raw(try ResourceRequest(url: "http://169.254.169.254/latest/meta-data/")))
  } catch let error as HTTPFetchError<any Error> {
    print("\(error.stage)/\(error.code)")
  }
  // end
}

extension Page {
  static let keepingUp = Page("KeepingUp") { stage in
    let transport = ScriptedTransport { _ throws(TransportError) in
      TransferResponse(head: HTTPResponse(status: .ok), body: ResponseBody(Data()))
    }
    let stack = standard(transport)
    _ = try limits(transport)
    try await endpoints(stack)
    try await stage.prints("breaker") { try await breaker() }
    try await stage.prints("guarded") { try await fetchingWhatUsersName() }
    try await stage.prints("egress") { try egress() }
  }
}
