// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes
public import Lastro
internal import LastroSupport
public import Tracing

/// Spans of calls, by OpenTelemetry's conventions for HTTP clients (1.44), over swift-distributed-tracing.
///
/// ```
/// call            internal   named by RequestOptions.operation; child of the caller's ServiceContext.current
///   request       client     one for each that goes out, redirects and retries included; `GET /users/{id}`
///   retry         event      one for each wait between attempts
/// ```
///
/// Each request carries on the trace with the span of its own: it has its own `traceparent`, or whatever field the
/// tracer injects.
///
/// A span of a request has `http.request.method`, `url.full`, `server.address`, `server.port`, `url.scheme`,
/// `url.template` (`RequestOptions.urlTemplate`), `lastro.operation`, `lastro.attempt`, `http.request.resend_count`
/// (requests that the call sent before this one), `http.response.status_code`, `network.protocol.version`,
/// `network.peer.address`, `network.peer.port` and `error.type`. It begins when the request is handed to the transport,
/// and ends with the answer, as `http.client.request.duration` does. One that a cache answered, or that was refused on
/// this side, has `lastro.sent` = false, and is not counted.
///
/// Status is *error* for failures, and for answers from 400 on. A call that the caller cancelled has neither status nor
/// `error.type`. Secrets in URLs are `REDACTED`, and messages are masked. Spans of a stream end when its body does:
/// read, failed, or dropped. Every span ends.
public final class TracingObserver: FetchObserver {
  private let tracer: any Tracer
  private let redaction: Redaction
  private let knownMethods: KnownMethods
  private let propagated: [Origin]?
  private let calls = Lock<[UInt64: TracedCall]>([:])

  /// Makes an observer.
  ///
  /// - Parameters:
  ///   - tracer: makes the spans. Default: the one bootstrapped when this is called, `InstrumentationSystem.tracer`.
  ///   - redaction: what is masked, besides what a request's options name. Default: the usual names.
  ///   - propagatesTo: the origins whose requests carry the trace on. Default `nil`: all do. Identifiers and baggage of
  ///     a trace tell third parties what they need not know.
  ///   - knownMethods: methods that are not `_OTHER`. Default: those of the environment.
  public init(
    tracer: any Tracer = InstrumentationSystem.tracer, redaction: Redaction = .standard,
    propagatesTo: [Origin]? = nil, knownMethods: KnownMethods = .environment
  ) {
    self.tracer = tracer
    self.redaction = redaction
    self.knownMethods = knownMethods
    propagated = propagatesTo
  }

  /// Starts, describes and ends spans. Takes a lock, and calls the tracer outside of it.
  public func observe(_ event: FetchEvent) {
    switch event.kind {
    case .callStarted: start(event)
    case .transferStarted(let request): change(event) { $0.begin(request, event, tracer, knownMethods) }
    case .transferEnded(let result): change(event) { $0.answer(result, event) }
    case .attemptEnded(let attempt): end(attempt, event)
    case .retryScheduled(let delay, let source, let reason): retry(delay, source, reason, event)
    case .callEnded(let result): end(result, event)
    case .bodyEnded(let end):
      guard let call = calls.withLock({ $0.removeValue(forKey: event.callID) }) else { return }
      call.end(end, at: call.instant(event))
    default: break
    }
  }

  /// What the tracer injects for the span of the request that goes out; nothing for an origin that the trace is not
  /// propagated to. Names that no header field may have are left out.
  public func propagationFields(callID: UInt64, attempt: Int) -> HTTPFields {
    var fields = HTTPFields()
    guard let call = calls.withLock({ $0[callID] }), let span = call.request else { return fields }
    if let propagated {
      guard let target = call.target, propagated.contains(target) else { return fields }
    }
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
      if let error = attempt.error { call.request?.fail(error, call.redaction.text("\(error)", of: error)) }
      call.endRequest(event)
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
    guard var call = calls.withLock({ $0.removeValue(forKey: event.callID) }) else { return }
    if case .failure(let error) = result, let type = HTTPAttributes.errorType(of: error) {
      call.span.attributes["error.type"] = type
      call.span.setStatus(SpanStatus(code: .error, message: call.redaction.text(error.description, of: error)))
    }
    // A stream that was opened, and given up before the call was over.
    call.endRequest(event)
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
