// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import HTTPTypes
import Lastro
import LastroResilience

// Measures the cost of the pipeline alone: fetches over a transport that responds at once from memory.
//
//   PipelineBench REQUESTS [none | plain | prompt | hooks]
//     [off | empty | breaker | pacer | limiter | standard | all | instance | fleet]
//
// Interceptors of the stack:
//   none    no interceptor
//   plain   one without hooks that does not declare whether it waits, and the standard retry (default)
//   prompt  one without hooks that declares that it never waits, and the standard retry
//   hooks   one with every hook that does not declare whether it waits, and the standard retry
//
// Resilience of the stack:
//   off       none (default)
//   empty     a `Resilience` without parts
//   breaker   a circuit breaker
//   pacer     a pacer that follows the servers' rate limits
//   limiter   a concurrency limiter
//   standard  `Resilience.standard()`
//   all       a circuit breaker, a pacer and a limiter
//   instance  a circuit breaker, a pacer with a pace, and a bearer token, with 10 ms between two fetches
//   fleet     the same, shared in a folder
//
// Prints the wall time of a fetch. The number of instructions varies less than the time: run the program under
// `valgrind --tool=callgrind` with 1,000 and with 3,000 requests. The difference divided by 2,000 is the cost of a
// fetch.

let arguments = CommandLine.arguments.dropFirst()
guard let requests = arguments.first.flatMap({ Int($0) }), requests > 0,
  let chain = Chain(rawValue: arguments.dropFirst().first ?? "plain"),
  let parts = Parts(rawValue: arguments.dropFirst(2).first ?? "off")
else {
  let chains = Chain.allCases.map(\.rawValue).joined(separator: " | ")
  print("usage: PipelineBench REQUESTS [\(chains)] [\(Parts.allCases.map(\.rawValue).joined(separator: " | "))]")
  exit(64)
}

var configuration = StackConfiguration()
configuration.interceptors = chain.interceptors
configuration.resilience = try parts.resilience
let fleet = parts.isPaced ? try Fleet(isShared: parts == .fleet) : nil
if let fleet {
  configuration.interceptors.append(fleet.authenticator)
  configuration.resilience = fleet.resilience
}
let stack = TransportNetworkStack(transport: NullTransport(), configuration: configuration)
let request = try ResourceRequest(method: .get, url: "http://127.0.0.1:8080/1024")
let resource = RawHTTPResource.raw(request)
try await measure()
fleet?.removeFolder()

@concurrent
func measure() async throws {
  let start = ContinuousClock.now
  for _ in 0..<requests {
    let value = try await stack.fetch(resource)
    guard value.value.count == NullTransport.size else { exit(1) }
    if parts.isPaced { try await Task.sleep(for: Fleet.pause) }
  }
  print("\(chain), \(parts): \((ContinuousClock.now - start) / requests) a fetch")
}

enum Chain: String, CaseIterable {
  case none, plain, prompt, hooks

  var interceptors: [any HTTPResourceInterceptor] {
    switch self {
    case .none: []
    case .plain: [PlainInterceptor(), .retry]
    case .prompt: [PromptInterceptor(), .retry]
    case .hooks: [FullInterceptor(), .retry]
    }
  }
}

enum Parts: String, CaseIterable {
  case off, empty, breaker, pacer, limiter, standard, all, instance, fleet

  var isPaced: Bool { self == .instance || self == .fleet }

  var resilience: Resilience? {
    get throws {
      switch self {
      case .off, .instance, .fleet: nil
      case .empty: Resilience()
      case .breaker: Resilience(breaker: CircuitBreaker())
      case .pacer: Resilience(pacer: try Pacer())
      case .limiter: Resilience(limiter: try ConcurrencyLimiter())
      case .standard: .standard()
      case .all: Resilience(pacer: try Pacer(), limiter: try ConcurrencyLimiter(), breaker: CircuitBreaker())
      }
    }
  }
}

struct PlainInterceptor: HTTPResourceInterceptor {}

struct PromptInterceptor: HTTPResourceInterceptor {
  var hooksWait: Bool { false }
}

struct FullInterceptor: HTTPResourceInterceptor {
  func interceptMakeRequest(
    _ result: Result<ResourceRequest, any Error>, context: AttemptContext
  ) async -> Result<ResourceRequest, any Error> { result }

  func interceptScheduled(_ request: ResourceRequest, context: AttemptContext) async {}

  func interceptSucceeded(
    _ request: ResourceRequest, response: ResourceResponse, body: Data?, context: AttemptContext
  ) async {}

  func interceptFailed(
    _ request: ResourceRequest?, response: ResourceResponse?, body: Data?, error: HTTPFetchError<any Error>,
    context: AttemptContext
  ) async -> Retry.Action { .none }
}

/// A transport that responds to every request with the same 1,024 bytes.
struct NullTransport: Transport {
  static let size = 1024

  private let answer = TransferResponse(
    head: HTTPResponse(status: .ok, headerFields: [.contentType: "text/plain", .contentLength: "\(size)"]),
    body: ResponseBody(Data(repeating: 120, count: size)))

  func execute(_ request: TransferRequest) async throws(TransportError) -> TransferResponse { answer }
}
