// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import LastroCurl
import LastroTesting
import Logging
import Synchronization

// sample: trace
struct TraceInterceptor: HTTPResourceInterceptor {
  let identifier: @Sendable () -> String

  func adapt(_ request: inout ResourceRequest, context: AttemptContext) async throws {
    try request.setHeader("X-Request-ID", identifier())
  }
}
// end

private func interceptorsInOrder() -> StackConfiguration {
  // sample: order
  var configuration = StackConfiguration()
  configuration.interceptors = [
    TraceInterceptor { UUID().uuidString },
    .retry,
    .logging(Logger(label: "github"), verbosity: .headers),
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

final class Counter: Sendable {
  private let count = Atomic(0)
  var value: Int { count.load(ordering: .relaxed) }
  func increment() { count.add(1, ordering: .relaxed) }
}
// end

/// An interceptor that records every call of its hooks.
private struct Witness: HTTPResourceInterceptor {
  let name: String
  let events: EventRecorder<String>

  func interceptMakeRequest(
    _ result: Result<ResourceRequest, any Error>, context: AttemptContext
  ) async -> Result<ResourceRequest, any Error> {
    events.record("\(name) makes \(context.attempt)")
    return result
  }

  func interceptScheduled(_ request: ResourceRequest, context: AttemptContext) async {
    events.record("\(name) scheduled \(context.attempt)")
  }

  func interceptSucceeded(
    _ request: ResourceRequest, response: ResourceResponse, body: Data?, context: AttemptContext
  ) async { events.record("\(name) succeeded \(context.attempt)") }

  func interceptFailed(
    _ request: ResourceRequest?, response: ResourceResponse?, body: Data?, error: HTTPFetchError<any Error>,
    context: AttemptContext
  ) async -> Retry.Action {
    events.record("\(name) failed \(context.attempt)")
    return .none
  }
}

extension Page {
  static let interceptors = Page("Interceptors") { stage in
    _ = try await stage.github(interceptorsInOrder()).fetch(.user("octocat"))
    stage.check("the request has an identifier", stage.server.requests.last?.headers["X-Request-ID"]?.count == 36)

    let events = EventRecorder<String>()
    var configuration = StackConfiguration()
    configuration.interceptors = [.retry(.maxRetries(1)), Witness(name: "stack", events: events)]
    let resource = HTTPResource.text(
      at: "/flaky/order?failures=1", through: [Witness(name: "resource", events: events)])
    _ = try await stage.github(configuration).fetch(resource)
    for event in events.events { say(event) }
    stage.check(
      "the stack's come first, for every event",
      events.events == [
        "stack makes 1", "resource makes 1", "stack scheduled 1", "resource scheduled 1", "stack failed 1",
        "resource failed 1", "stack makes 2", "resource makes 2", "stack scheduled 2", "resource scheduled 2",
        "stack succeeded 2", "resource succeeded 2",
      ])

    let counting = CountingTransport(next: try CurlNetworkStack(stage.engine).engine)
    _ = try await TransportNetworkStack(transport: counting).fetch(.user("octocat"))
    stage.check("a transport around a transport sees every exchange", counting.count.value == 1)
  }
}
