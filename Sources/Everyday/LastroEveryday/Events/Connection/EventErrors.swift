// SPDX-License-Identifier: Apache-2.0

public import Lastro
internal import LastroWire

extension FailureCode {
  /// The response's content type is not that of an event stream. The stage is `response`.
  public static let unexpectedContentType = Self("unexpected_content_type")
  /// An event, one of its lines, or its identifier exceeds a limit. Streams of JSON texts and of lines of text use the
  /// same code for an element over their limit. The stage is `limit`.
  public static let eventTooLarge = Self("event_too_large")
  /// An event of the stream reports an error of the API. The stage is `response`. Observers and ledgers get this code;
  /// the error that is thrown has the reason `http`.
  public static let failureEvent = Self("failure_event")
}

extension TransportError {
  /// Returns the error for a stream whose next connection would begin after the total timeout.
  static func connectionTooLate(after wait: Duration, total: Duration) -> Self {
    Self(
      stage: .timeout, code: .totalTimeout,
      message:
        "the next connection, after a wait of \(wait.brief), would begin after the total timeout of \(total.brief)",
      hint: "raise Timeouts.total", requestSent: true)
  }

  static func tooLarge(_ violation: EventStreamMachine.Violation) -> Self {
    let (what, limit, hint) =
      switch violation {
      case .line(let limit): ("a line of the event stream", limit, "raise maximumEventBytes")
      case .event(let limit): ("an event", limit, "raise maximumEventBytes")
      case .id(let limit): ("an event's identifier", limit, "report it to the server's owner")
      }
    return Self(
      stage: .limit, code: .eventTooLarge, message: "\(what) is longer than \(limit.counted("byte"))",
      hint: hint, requestSent: true)
  }

  static func textTooLong(_ limit: Int) -> Self {
    Self(
      stage: .limit, code: .eventTooLarge, message: "a JSON text of the stream is longer than \(limit.counted("byte"))",
      hint: "raise maximumTextBytes, or check whether each line is a JSON text", requestSent: true)
  }

  static func endedTooOften(_ limit: Int) -> Self {
    Self(
      stage: .response, code: .connectionLost,
      message: "the server ended \((limit + 1).counted("event stream")) in a row without an event",
      hint: "raise maximumReconnections, or look at the server", requestSent: true)
  }

  /// The error that an event of the API reported.
  static var failureEvent: Self {
    Self(
      stage: .response, code: .failureEvent, message: "an event of the stream reports a failure of the API",
      hint: "see what the API says in it", requestSent: true)
  }

  /// Returns the error for a stream that ended before its end mark.
  static func cutBeforeEnd(_ mark: String) -> Self {
    Self(
      stage: .response, code: .truncatedStream, message: "the stream ended before \(mark), which marks a complete one",
      hint: "treat the received part as incomplete, and fetch again if that is safe", requestSent: true)
  }
}

extension HTTPFetchError {
  /// Creates the error for a failure between the connections of a stream, the last of which was opened by `response`.
  init(between error: TransportError, after response: ResourceResponse?) {
    self.init(error.stage == .cancelled ? .cancelled : .transport(error), of: response, snippetBytes: 0, openFor: nil)
  }

  /// Whether the failure may be temporary. The statuses are those with which services restart or shed load; the
  /// standard's event source gives up after any of them.
  var mayPass: Bool {
    switch reason {
    case .http(let status, _): status.code == 429 || (500...599).contains(status.code)
    case .transport(let error) where error.stage == .policy: error.code != .egressDenied
    case .transport, .noRequest: RetryInterceptor.isEligible(erased, [], isIdempotent: true, hasKey: false)
    default: false
    }
  }
}
