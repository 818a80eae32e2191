// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import Logging
import Synchronization

// sample: trace
struct TraceInterceptor: HTTPResourceInterceptor {
  let identifier: @Sendable () -> String

  func interceptMakeRequest(
    _ result: Result<ResourceRequest, any Error>, context: AttemptContext
  ) async -> Result<ResourceRequest, any Error> {
    result.flatMap { request in
      var request = request
      return Result {
        try request.setHeader("X-Request-ID", identifier())
        return request
      }
    }
  }
}
// end

// sample: authenticator
struct BearerAuthenticator: RequestAuthenticator, HTTPResourceInterceptor {
  let tokens: any TokenStore
  /// After a redirect, the token goes here and nowhere else.
  let credentialOrigins: [Origin]

  func authenticate(_ request: ResourceRequest) async throws -> ResourceRequest {
    var request = request
    try request.setHeader("Authorization", "Bearer \(try await tokens.current())")
    return request
  }

  func evaluateFailedRequest(
    _ request: ResourceRequest?, response: ResourceResponse?, body: Data?, error: HTTPFetchError<any Error>,
    retryState: Retry.State
  ) async -> Retry.Action {
    guard response?.status == .unauthorized, retryState.retryCount == 0 else { return .none }
    return await tokens.refresh() ? .retry : .none
  }
}
// end

// sample: token store
protocol TokenStore: Sendable {
  func current() async throws -> String
  /// Whether there is a new token.
  func refresh() async -> Bool
}
// end

func logging() -> StackConfiguration {
  // sample: logging
  var configuration = StackConfiguration()
  configuration.interceptors = [
    RetryInterceptor(policy: .maxRetries(2)),
    LoggingInterceptor(logger: Logger(label: "github"), verbosity: .headers),
  ]
  // end
  return configuration
}

// sample: transport
struct CountingTransport: Transport {
  let next: any Transport
  let count = Counter()

  func execute(_ request: TransferRequest) async throws(TransportError) -> TransferResponse {
    count.increment()
    return try await next.execute(request)
  }
}
// end

final class Counter: Sendable {
  private let value = Atomic(0)
  func increment() { value.add(1, ordering: .relaxed) }
}
