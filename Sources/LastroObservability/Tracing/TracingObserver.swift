// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes
public import Lastro
internal import LastroSupport
public import Tracing

/// Spans of calls, by OpenTelemetry's conventions for HTTP clients, over swift-distributed-tracing.
///
/// ```
/// call            internal   named by RequestOptions.operation; child of the caller's ServiceContext.current
///   attempt       client     one for each; `GET operation`
///     redirect    event      one for each that was followed
///   retry         event      one for each wait between attempts
/// ```
///
/// A span of an attempt has `http.request.method`, `url.full`, `server.address`, `server.port`, `url.scheme`,
/// `lastro.operation`, `http.request.resend_count` (requests that the call sent before this one),
/// `http.response.status_code`, `network.protocol.version`, `network.peer.address`, `network.peer.port` and
/// `error.type`; after redirects those of the last request. Where a redirect goes is told by its event, as the attempt
/// is what the trace is propagated from: all its requests carry the same `traceparent`, whatever field the tracer
/// injects.
///
/// Status is *error* for failures, cancellation included, and for answers from 400 on. URLs and messages are masked.
/// Spans of a stream end when its body does: read, failed, or dropped. Every span ends.
public final class TracingObserver: FetchObserver {
  private let tracer: any Tracer
  private let redaction: Redaction
  private let calls = Lock<[UInt64: TracedCall]>([:])

  /// Makes an observer.
  ///
  /// - Parameters:
  ///   - tracer: makes the spans. Default: the one bootstrapped when this is called, `InstrumentationSystem.tracer`.
  ///   - redaction: what is masked, besides what a request's options name. Default: the usual names.
  public init(tracer: any Tracer = InstrumentationSystem.tracer, redaction: Redaction = .standard) {
    self.tracer = tracer
    self.redaction = redaction
  }

  /// Starts, describes and ends spans. Takes a lock, and calls the tracer outside of it.
  public func observe(_ event: FetchEvent) {
    switch event.kind {
    case .callStarted: start(event)
    case .attemptStarted(let number): startAttempt(number, event)
    case .transferStarted(let request): change(event) { $0.describe(request, event) }
    case .transferEnded(let result): change(event) { $0.describe(result) }
    case .attemptEnded(let attempt): end(attempt, event)
    case .retryScheduled(let delay, let source, let reason): retry(delay, source, reason, event)
    case .callEnded(let result): end(result, event)
    case .bodyEnded(let end):
      guard let call = calls.withLock({ $0.removeValue(forKey: event.callID) }) else { return }
      call.end(end, at: call.instant(event))
    }
  }

  /// What the tracer injects for the span of the attempt. Names that no header field may have are left out.
  public func propagationFields(callID: UInt64, attempt: Int) -> HTTPFields {
    var fields = HTTPFields()
    guard let span = calls.withLock({ $0[callID]?.attempt }) else { return fields }
    tracer.inject(span.context, into: &fields, using: FieldInjector())
    return fields
  }

  private func start(_ event: FetchEvent) {
    let origin = event.sinceEpoch - event.time
    let span = tracer.startSpan(
      event.operation ?? TracedCall.unnamed, context: ServiceContext.current ?? .topLevel, ofKind: .internal,
      at: TracedCall.instant(origin + event.time))
    calls.withLock { $0[event.callID] = TracedCall(span: span, origin: origin, redaction: self.redaction) }
  }

  private func startAttempt(_ number: Int, _ event: FetchEvent) {
    guard let call = calls.withLock({ $0[event.callID] }) else { return }
    let span = tracer.startSpan(
      TracedCall.unnamedAttempt, context: call.span.context, ofKind: .client, at: call.instant(event))
    span.attributes["lastro.attempt"] = Int64(number)
    calls.withLock { $0[event.callID]?.attempt = span }
  }

  /// The events of one call come one after another: nothing else changes it meanwhile.
  private func change(_ event: FetchEvent, _ body: (inout TracedCall) -> Void) {
    guard var call = calls.withLock({ $0[event.callID] }) else { return }
    body(&call)
    calls.withLock { $0[event.callID] = call }
  }

  private func end(_ attempt: Attempt, _ event: FetchEvent) {
    change(event) { call in
      // A stream is open: its reader ends it.
      if attempt.outcome == .succeeded, event.isStream { return }
      if let error = attempt.error { call.attempt?.fail(error, call.redaction.text("\(error)", of: error)) }
      call.attempt?.end(at: call.instant(event))
      call.attempt = nil
    }
  }

  private func retry(_ delay: Duration, _ source: Attempt.DelaySource, _ reason: String, _ event: FetchEvent) {
    guard let call = calls.withLock({ $0[event.callID] }) else { return }
    call.span.addEvent(
      SpanEvent(
        name: "retry", at: call.instant(event),
        attributes: [
          "lastro.retry.delay": .double(delay.inSeconds), "lastro.retry.delay_source": .string(source.rawValue),
          "lastro.retry.reason": .string(call.redaction.text(reason)),
        ]))
  }

  private func end(_ result: Result<ResourceResponse, HTTPFetchError<any Error>>, _ event: FetchEvent) {
    change(event) { $0.name(event.operation) }
    if case .success = result, event.isStream { return }
    guard let call = calls.withLock({ $0.removeValue(forKey: event.callID) }) else { return }
    if case .failure(let error) = result {
      call.span.attributes["error.type"] = HTTPAttributes.errorType(of: error)
      call.span.setStatus(SpanStatus(code: .error, message: call.redaction.text(error.description, of: error)))
    }
    // A stream that was opened, and given up before the call was over.
    call.attempt?.end(at: call.instant(event))
    call.span.end(at: call.instant(event))
  }
}

/// Writes what a tracer injects into header fields.
private struct FieldInjector: Injector {
  func inject(_ value: String, forKey key: String, into carrier: inout HTTPFields) {
    guard let name = HTTPField.Name(key) else { return }
    carrier[name] = value
  }
}
