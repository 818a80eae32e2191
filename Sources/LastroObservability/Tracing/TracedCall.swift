// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
internal import Lastro
import Tracing

/// The open spans of one call.
struct TracedCall {
  static let unnamed = "HTTP call"
  static let unnamedRequest = "HTTP"
  /// By the conventions, where Lastro's own texts have ``Redaction/mask``.
  private static let redacted = "REDACTED"

  let span: any Span
  /// The date at zero of the stack's clock: dates may jump, times of a trace must not.
  let origin: Duration
  /// What is masked: what the options of the latest request name, too.
  private(set) var redaction: Redaction
  /// The request that is under way, or whose answer is still read.
  private(set) var request: (any Span)?
  /// Where that goes.
  private(set) var target: Origin?
  /// Requests that went out.
  private var sent = 0

  init(span: any Span, origin: Duration, redaction: Redaction) {
    self.span = span
    self.origin = origin
    self.redaction = redaction
  }

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

  /// A request goes out: another span, whatever became of the one before.
  mutating func begin(_ request: ResourceRequest, _ event: FetchEvent, _ tracer: any Tracer, _ known: KnownMethods) {
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

  /// The transport answered, or failed. The span of an answer that is streamed stays open.
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
    // By the convention without a message: the status says it.
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

  /// The body of a stream has ended, and the spans with it.
  func end(_ end: FetchEvent.BodyEnd, at instant: DefaultTracerClock.Timestamp) {
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
  /// What the caller cancelled is no error, by the conventions.
  func fail(_ error: TransportError, _ message: String) {
    guard let type = HTTPAttributes.errorType(of: error) else { return }
    attributes["error.type"] = type
    setStatus(SpanStatus(code: .error, message: message))
  }
}
