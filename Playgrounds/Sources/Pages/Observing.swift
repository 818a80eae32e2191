// SPDX-License-Identifier: Apache-2.0

import CoreMetrics
import Foundation
import InMemoryTracing
import Lastro
import LastroObservability
import LastroTesting
import MetricsTestKit
import Tracing

private func observers(
  metrics: any MetricsFactory, tracer: any Tracer, recorder: HARRecorder
) -> StackConfiguration {
  // sample: observers
  var configuration = StackConfiguration()
  configuration.observers = [
    .metrics(factory: metrics),
    .tracing(tracer: tracer),
    recorder,
  ]
  // end
  return configuration
}

private func template() -> RequestOptions {
  // sample: template
  var options = RequestOptions()
  options.operation = "getUser"
  options.urlTemplate = "/users/{id}"
  // end
  return options
}

// sample: own
/// Prints the ledgers of calls that take long.
struct SlowCalls: FetchObserver {
  let limit: Duration

  func observe(_ event: FetchEvent) {
    guard case .callEnded(let end) = event.kind else { return }
    let ledger =
      switch end {
      case .success(let response): response.ledger
      case .failure(let error): error.ledger
      }
    if ledger.elapsed > limit { print(ledger) }
  }
}
// end

// sample: order
struct EventNames: FetchObserver {
  func observe(_ event: FetchEvent) {
    switch event.kind {
    case .callStarted: print("call started")
    case .attemptStarted(let number): print("  attempt \(number) started")
    case .transferStarted(let request): print("    transfer started: \(request.head.path ?? "")")
    case .transferEnded(.success(let answer)): print("    transfer ended: \(answer.response.status.code)")
    case .transferEnded(.failure(let error)): print("    transfer failed: \(error.code)")
    case .attemptEnded(let attempt): print("  attempt \(attempt.number) ended: \(attempt.outcome)")
    case .retryScheduled(_, _, let reason): print("  another one, because of \(reason)")
    case .callEnded: print("call ended")
    case .bodyEnded(let bytes, _, _): print("body ended after \(bytes) bytes")
    @unknown default: break
    }
  }
}
// end

private func archive(_ recorder: HARRecorder, _ error: HTTPFetchError<GitHubError>) throws {
  // sample: har
  let file = FileManager.default.temporaryDirectory.appending(path: "call-\(error.ledger.callID).har")
  try recorder.har(forCall: error.ledger.callID).write(to: file)
  // end
  say(file.path)
  try FileManager.default.removeItem(at: file)
}

extension Page {
  static let observing = Page("Observing") { stage in
    let metrics = TestMetrics()
    let tracer = InMemoryTracer()
    let recorder = HARRecorder()
    _ = template()
    let github = try stage.github(observers(metrics: metrics, tracer: tracer, recorder: recorder))
    let flaky = HTTPResource.text(
      at: "/flaky/observed?failures=1", through: [.retry(.maxRetries(1))])
    let answer = try await github.fetch(flaky)
    let spans = tracer.finishedSpans
    for span in spans { say("\(span.kind) span \(span.operationName)") }
    stage.check("a span for the call and one for each attempt", spans.count == 3)
    let durations = metrics.recorders.filter { $0.label == "http.client.request.duration" }
    stage.check("each request's duration is recorded", durations.flatMap(\.values).count == 2)
    let both = try HARReplayTransport(json: recorder.har(forCall: answer.response.ledger.callID))
    stage.check("both are in the archive", both.remainingEntries == 2)

    var configuration = StackConfiguration()
    configuration.observers = [EventNames()]
    let named = try stage.github(configuration)
    try await stage.prints("order") {
      _ = try await named.fetch(
        .text(at: "/flaky/order?failures=1", through: [.retry(.maxRetries(1))]))
    }
    configuration.observers = [SlowCalls(limit: .zero)]
    transcript.removeAll()
    _ = try await stage.github(configuration).fetch(.user("octocat"))
    stage.check("an observer of one's own", transcript.events.first?.hasPrefix("call ") == true)
    if let error = await stage.failure(of: .user("nobody"), from: github) {
      try archive(recorder, error)
      let failed = try HARReplayTransport(json: recorder.har(forCall: error.ledger.callID))
      stage.check("a call that failed is in the archive", failed.remainingEntries == 1)
    }
  }
}
