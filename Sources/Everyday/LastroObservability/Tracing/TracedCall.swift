// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
internal import Lastro
import Tracing

/// The open spans of one call.
struct TracedCall {
  static let unnamed = "HTTP call"
  static let unnamedRequest = "HTTP"
  /// The mask that the conventions require, where Lastro's own texts use ``Redaction/mask``.
  private static let redacted = "REDACTED"

  let span: any Span
  /// The date at zero of the stack's clock. Dates may jump, but the times of a trace must not.
  let origin: Duration
  /// The masking rules, including those in the options of the latest request.
  private(set) var redaction: Redaction
  /// The request in progress, or whose response is still being read.
  private(set) var request: (any Span)?
  /// The origin of that request.
  private(set) var target: Origin?
  /// The number of requests sent.
  private(set) var sent = 0

  func instant(_ event: FetchEvent) -> DefaultTracerClock.Timestamp { Self.instant(origin + event.time) }

  static func instant(_ sinceEpoch: Duration) -> DefaultTracerClock.Timestamp {
    let (seconds, attoseconds) = sinceEpoch.components
    let (whole, overflows) = UInt64(clamping: seconds).multipliedReportingOverflow(by: 1_000_000_000)
    let fraction = UInt64(clamping: attoseconds / 1_000_000_000)
    return DefaultTracerClock.Timestamp(nanosecondsSinceEpoch: overflows ? .max : whole &+ fraction)
  }

  func name(_ operation: String?) {
    if let operation, span.operationName != operation { span.operationName = operation }
  }

  /// Starts the span of a request, and ends the previous one.
  mutating func startRequest(
    _ request: ResourceRequest, _ event: FetchEvent, _ tracer: any Tracer, _ known: KnownMethods
  ) {
    endRequest(event)
    redaction = redaction.adding(request.options)
    let http = HTTPAttributes(request, operation: event.operation, known: known)
    let method = http.originalMethod == nil ? http.method : Self.unnamedRequest
    let name = (http.template ?? http.operation).map { "\(method) \($0)" } ?? method
    let span = tracer.startSpan(name, context: span.context, ofKind: .client, at: instant(event))
    let url = redaction.url(request.url).replacing(Redaction.mask, with: Self.redacted)
    span.updateAttributes { attributes in
      attributes["http.request.method"] = http.method
      attributes["http.request.method_original"] = http.originalMethod
      attributes["url.full"] = url
      attributes["url.scheme"] = http.scheme
      attributes["url.template"] = http.template
      attributes["lastro.operation"] = http.operation
      attributes["lastro.attempt"] = Int64(event.attempt)
      attributes["server.address"] = http.address
      attributes["server.port"] = http.port.map { Int64($0) }
      if sent > 0 { attributes["http.request.resend_count"] = Int64(sent) }
    }
    self.request = span
    target = Origin(request.head)
  }

  /// Records the result of the transport. The span of a streamed response stays open.
  mutating func answer(_ result: Result<FetchEvent.Answer, TransportError>, _ event: FetchEvent) {
    guard let request else { return }
    let wasSent = result.wasSent
    if wasSent { sent += 1 }
    let status: HTTPResponse.Status?
    let facts: TransferFacts?
    switch result {
    case .success(let answer): (status, facts) = (answer.response.status, answer.response.facts)
    case .failure(let error): (status, facts) = (error.head?.status, error.facts)
    }
    request.updateAttributes { attributes in
      attributes["http.response.status_code"] = status.map { Int64($0.code) }
      attributes["network.protocol.version"] = facts?.httpVersion
      attributes["network.peer.address"] = facts?.remoteAddress
      attributes["network.peer.port"] = facts?.remotePort.map { Int64($0) }
      attributes["error.type"] = status.flatMap(HTTPAttributes.errorType)
      if !wasSent { attributes["lastro.sent"] = false }
    }
    // The convention requires no message here: the status is sufficient.
    if let status, status.code >= 400 { request.setStatus(SpanStatus(code: .error)) }
    switch result {
    case .success(let answer): if !event.isStream || answer.body != nil { endRequest(event) }
    case .failure(let error):
      request.fail(error, redaction.text("\(error)", of: error))
      endRequest(event)
    }
  }

  mutating func endRequest(_ event: FetchEvent) {
    request?.end(at: instant(event))
    request = nil
  }

  /// Ends the spans of a stream together with its body.
  func endStream(_ end: FetchEvent.BodyEnd, at instant: DefaultTracerClock.Timestamp) {
    if let error = end.error {
      let message = redaction.text("\(error)", of: error)
      request?.fail(error, message)
      span.fail(error, message)
    }
    request?.attributes["http.response.body.size"] = end.facts?.bytesReceived ?? end.bytes
    request?.end(at: instant)
    span.end(at: instant)
  }
}

extension Span {
  /// Marks the span as failed, except for a cancellation by the caller, which is not an error by the conventions.
  func fail(_ error: TransportError, _ message: String) {
    guard let type = HTTPAttributes.errorType(of: error) else { return }
    attributes["error.type"] = type
    setStatus(SpanStatus(code: .error, message: message))
  }
}
