// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro
import LastroSupport
import Tracing

/// Records the spans of calls that `tracing` of `FetchObserver` describes.
final class TracingObserver: FetchObserver {
  private let tracer: any Tracer
  private let redaction: Redaction
  private let knownMethods: KnownMethods
  private let propagated: [Origin]?
  private let calls = Lock<[UInt64: TracedCall]>([:])

  init(
    tracer: any Tracer = InstrumentationSystem.tracer, redaction: Redaction = .standard,
    propagatesTo: [Origin]? = nil, knownMethods: Set<String>? = nil
  ) {
    self.tracer = tracer
    self.redaction = redaction
    self.knownMethods = knownMethods.map { KnownMethods($0) } ?? .environment
    propagated = propagatesTo
  }

  /// Starts, updates and ends spans. It takes a lock, and calls the tracer outside of it.
  func observe(_ event: FetchEvent) {
    switch event.kind {
    case .callStarted: start(event)
    case .transferStarted(let request): change(event) { $0.startRequest(request, event, tracer, knownMethods) }
    case .transferEnded(let result): change(event) { $0.answer(result, event) }
    case .attemptEnded(let attempt): endAttempt(attempt, event)
    case .retryScheduled(let delay, let source, let reason): retry(delay, source, reason, event)
    case .callEnded(let result): endCall(result, event)
    case .bodyEnded(let bytes, let error, let facts):
      guard let call = calls.withLock({ $0.removeValue(forKey: event.callID) }) else { return }
      call.endStream(FetchEvent.BodyEnd(bytes: bytes, error: error, facts: facts), at: call.instant(event))
    default: break
    }
  }

  /// Returns the fields that the tracer injects for the span of the outgoing request; none for an origin to which the
  /// trace is not propagated. Names that are not valid for header fields are omitted.
  func propagationFields(callID: UInt64, attempt: Int) -> HTTPFields {
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

  /// Changes a call. Its events are sequential, so no other change can occur in between.
  private func change(_ event: FetchEvent, _ body: (inout TracedCall) -> Void) {
    guard var call = calls.withLock({ $0[event.callID] }) else { return }
    body(&call)
    calls.withLock { $0[event.callID] = call }
  }

  private func endAttempt(_ attempt: Attempt, _ event: FetchEvent) {
    change(event) { call in
      // The stream is open: its reader ends the spans.
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

  private func endCall(_ result: Result<ResourceResponse, HTTPFetchError<any Error>>, _ event: FetchEvent) {
    change(event) { $0.name(event.operation) }
    if case .success = result, event.isStream { return }
    guard var call = calls.withLock({ $0.removeValue(forKey: event.callID) }) else { return }
    if case .failure(let error) = result, let type = HTTPAttributes.errorType(of: error) {
      call.span.attributes["error.type"] = type
      call.span.setStatus(SpanStatus(code: .error, message: call.redaction.text(error.description, of: error)))
    }
    // The stream may have been opened, and abandoned before the end of the call.
    call.endRequest(event)
    call.span.end(at: call.instant(event))
  }
}

/// Writes the values that a tracer injects into header fields.
private struct FieldInjector: Injector {
  func inject(_ value: String, forKey key: String, into carrier: inout HTTPFields) {
    guard let name = HTTPField.Name(key) else { return }
    carrier[name] = value
  }
}
