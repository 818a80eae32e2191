// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
internal import Lastro
import Tracing

/// The open spans of one call.
struct TracedCall {
  static let unnamed = "HTTP call"
  static let unnamedAttempt = "HTTP"

  let span: any Span
  /// The date at zero of the stack's clock: dates may jump, times of a trace must not.
  let origin: Duration
  /// What is masked: what the options of the latest request name, too.
  private(set) var redaction: Redaction
  var attempt: (any Span)?
  /// Requests begun.
  private var transfers = 0
  private var redirectStatus: Int?

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

  mutating func describe(_ request: ResourceRequest, _ event: FetchEvent) {
    redaction = redaction.adding(request.options)
    guard let attempt else { return }
    let http = HTTPAttributes(request, operation: event.operation)
    let url = redaction.url(request.url)
    if event.hop > 0 {
      var attributes: SpanAttributes = ["url.full": .string(url)]
      attributes["http.response.status_code"] = redirectStatus.map { Int64($0) }
      attempt.addEvent(SpanEvent(name: "redirect", at: instant(event), attributes: attributes))
    }
    let method = http.originalMethod == nil ? http.method : Self.unnamedAttempt
    attempt.operationName = http.operation.map { "\(method) \($0)" } ?? method
    let sentBefore = transfers
    transfers += 1
    attempt.updateAttributes { attributes in
      attributes["http.request.method"] = http.method
      attributes["http.request.method_original"] = http.originalMethod
      attributes["url.full"] = url
      attributes["url.scheme"] = http.scheme
      attributes["lastro.operation"] = http.operation
      attributes["server.address"] = http.address
      attributes["server.port"] = http.port.map { Int64($0) }
      if sentBefore > 0 { attributes["http.request.resend_count"] = Int64(sentBefore) }
    }
  }

  mutating func describe(_ result: Result<FetchEvent.Answer, TransportError>) {
    guard let attempt else { return }
    let status: HTTPResponse.Status?
    let facts: TransferFacts?
    switch result {
    case .success(let answer): (status, facts) = (answer.response.status, answer.response.facts)
    case .failure(let error): (status, facts) = (error.head?.status, error.facts)
    }
    redirectStatus = status?.code
    attempt.updateAttributes { attributes in
      attributes["http.response.status_code"] = status.map { Int64($0.code) }
      attributes["network.protocol.version"] = facts?.httpVersion
      attributes["network.peer.address"] = facts?.remoteAddress
      attributes["network.peer.port"] = facts?.remotePort.map { Int64($0) }
      attributes["error.type"] = status.flatMap(HTTPAttributes.errorType)
    }
    // By the convention without a message: the status says it.
    if let status, status.code >= 400 { attempt.setStatus(SpanStatus(code: .error)) }
  }

  /// The body of a stream has ended, and the spans with it.
  func end(_ end: FetchEvent.BodyEnd, at instant: DefaultTracerClock.Timestamp) {
    if let error = end.error {
      let message = redaction.text("\(error)", of: error)
      attempt?.fail(error, message)
      span.attributes["error.type"] = HTTPAttributes.errorType(of: error)
      span.setStatus(SpanStatus(code: .error, message: message))
    }
    attempt?.attributes["http.response.body.size"] = end.facts?.bytesReceived ?? end.bytes
    attempt?.end(at: instant)
    span.end(at: instant)
  }
}

extension Span {
  func fail(_ error: TransportError, _ message: String) {
    attributes["error.type"] = HTTPAttributes.errorType(of: error)
    setStatus(SpanStatus(code: .error, message: message))
  }
}
