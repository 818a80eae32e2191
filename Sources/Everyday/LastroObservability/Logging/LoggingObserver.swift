// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
public import Lastro
internal import LastroSupport
public import Logging

/// Logs one line per call, when it ends, through swift-log; `LoggingInterceptor` logs each attempt instead. A stream
/// gets a line when it is opened, and another one if it fails.
///
/// Messages are constant texts: "call succeeded", "stream opened", "call failed", "call cancelled", "stream failed",
/// "more calls failed alike". A stream fails when its body breaks off or stalls, and when its reader finds it
/// incomplete or invalid. The metadata has the details: `call`, `operation`, `request` (method and URL, without the
/// values of its query), `attempts`, `duration_ms` (until the stream was opened, or until it failed), `status`; for
/// failures also `stage`, `code`, `error`, `hint`, `engine_code`. Every value is on one line, and secrets are masked.
///
/// In an outage, most lines would be the same. Failures are alike if they have the same server, the same operation, and
/// the same status or the same stage and code. Only a limited number of them is logged within a window. The number of
/// suppressed failures is logged when a call ends after the window, or when the observer is released: "more calls
/// failed alike", with `count`, `server`, `operation` and `reason`.
///
/// ```swift
/// configuration.observers = [LoggingObserver(logger: Logger(label: "github"))]
/// ```
///
/// Several stacks may share an observer if they have the same clock.
public final class LoggingObserver: FetchObserver {
  /// The log levels by kind of event.
  private struct Levels {
    let succeeded: Logger.Level
    let failed: Logger.Level
    let cancelled: Logger.Level
    /// The levels of failures by status, which replace ``failed``.
    let byStatus: [Int: Logger.Level]

    func level(of error: HTTPFetchError<any Error>) -> Logger.Level {
      if error.isCancelled { return cancelled }
      guard error.stage == .http, let status = error.statusCode else { return failed }
      return byStatus[status.code] ?? failed
    }
  }

  private let logger: Logger
  private let levels: Levels
  private let redaction: Redaction
  private let sampler: Lock<FailureSampler>
  private let streams = Lock<[UInt64: OpenStream]>([:])

  /// A stream that was opened, with the time of its opening.
  private struct OpenStream {
    var response: ResourceResponse
    var opened: Duration
  }

  /// Creates an observer.
  ///
  /// - Parameters:
  ///   - logger: the logger; its own level determines which events are processed at all.
  ///   - successLevel: the level of a success, and of a stream that was opened. Default info.
  ///   - failureLevel: the level of a failure after all retries. Default warning.
  ///   - cancellationLevel: the level of a cancellation by the caller. Default debug.
  ///   - levelsByStatus: the levels of failures with a status, in place of `failureLevel`. Default: 404 and 410 are
  ///     info. With such a response, a server reports that a resource does not exist, which is often the question and
  ///     not a fault of either side. If every resource must exist, give an empty dictionary.
  ///   - maximumAlike: the maximum number of similar failures that are logged within a window. Default 10; values below
  ///     1 count as 1.
  ///   - window: the length of a window, which begins with its first failure. Default 1 min; with zero or less, every
  ///     failure is logged.
  ///   - redaction: the masking rules, besides those in a request's options.
  public init(
    logger: Logger, successLevel: Logger.Level = .info, failureLevel: Logger.Level = .warning,
    cancellationLevel: Logger.Level = .debug, levelsByStatus: [Int: Logger.Level] = [404: .info, 410: .info],
    maximumAlike: Int = 10, window: Duration = .seconds(60), redaction: Redaction = .standard
  ) {
    self.logger = logger
    levels = Levels(
      succeeded: successLevel, failed: failureLevel, cancelled: cancellationLevel, byStatus: levelsByStatus)
    self.redaction = redaction
    sampler = Lock(FailureSampler(maximumAlike: maximumAlike, window: window))
  }

  deinit { tell(sampler.withLock { $0.takeUntold(now: nil) }) }

  /// Logs the end of a call or a body. It takes a lock, and calls the logger outside of it.
  public func observe(_ event: FetchEvent) {
    switch event.kind {
    case .callEnded(let result):
      tellUntold(event)
      switch result {
      case .success(let response):
        if event.isStream, logger.logLevel <= levels.failed {
          streams.withLock { $0[event.callID] = OpenStream(response: response, opened: event.time) }
        }
        succeeded(response, event)
      case .failure(let error): failed(error, event)
      }
    case .bodyEnded(let end):
      let stream = streams.withLock { $0.removeValue(forKey: event.callID) }
      if let error = end.error, error.code != .cancelled { bodyFailed(error, stream, event) }
    default: break
    }
  }

  private func succeeded(_ response: ResourceResponse, _ event: FetchEvent) {
    guard logger.logLevel <= levels.succeeded else { return }
    var metadata = metadata(of: response.ledger, event)
    metadata["status"] = "\(response.status.code)"
    logger.log(level: levels.succeeded, event.isStream ? "stream opened" : "call succeeded", metadata: metadata)
  }

  private func failed(_ error: HTTPFetchError<any Error>, _ event: FetchEvent) {
    let level = levels.level(of: error)
    guard logger.logLevel <= level, error.isCancelled || isTold(error, level, event) else { return }
    var metadata = metadata(of: error.ledger, event)
    metadata["status"] = error.statusCode.map { "\($0.code)" }
    metadata["stage"] = "\(error.stage.rawValue)"
    metadata["code"] = "\(error.code)"
    metadata["error"] = "\(redaction.text(error.message, of: error).onOneLine)"
    metadata["hint"] = error.hint.map { "\(redaction.text($0, of: error).onOneLine)" }
    metadata["engine_code"] = error.engineCode.map { "\($0)" }
    logger.log(level: level, error.isCancelled ? "call cancelled" : "call failed", metadata: metadata)
  }

  private func bodyFailed(_ error: TransportError, _ stream: OpenStream?, _ event: FetchEvent) {
    tellUntold(event)
    guard logger.logLevel <= levels.failed else { return }
    let ledger = stream?.response.ledger ?? AttemptLedger()
    let kind = FailureSampler.Kind(
      server: server(of: ledger), operation: event.operation, reason: HTTPAttributes.errorType(of: error))
    guard isTold(kind, levels.failed, event) else { return }
    var metadata: Logger.Metadata = ["call": "\(event.callID)"]
    if let stream {
      metadata = self.metadata(of: ledger, event, openFor: event.time - stream.opened)
      metadata["status"] = "\(stream.response.status.code)"
    }
    metadata["operation"] = text(of: event.operation)
    metadata["stage"] = "\(error.stage.rawValue)"
    metadata["code"] = "\(error.code)"
    metadata["error"] = "\(redaction.text(error.message, of: error).onOneLine)"
    metadata["hint"] = error.hint.map { "\(redaction.text($0, of: error).onOneLine)" }
    logger.log(level: levels.failed, "stream failed", metadata: metadata)
  }

  private func isTold(_ error: HTTPFetchError<any Error>, _ level: Logger.Level, _ event: FetchEvent) -> Bool {
    let kind = FailureSampler.Kind(
      server: server(of: error.ledger), operation: event.operation, reason: HTTPAttributes.errorType(of: error))
    return isTold(kind, level, event)
  }

  private func server(of ledger: AttemptLedger) -> String? {
    ledger.url.flatMap { try? Origin($0) }.map { "\($0)" }
  }

  private func isTold(_ kind: FailureSampler.Kind, _ level: Logger.Level, _ event: FetchEvent) -> Bool {
    sampler.withLock { $0.tells(kind, at: level, now: event.time) }
  }

  private func tellUntold(_ event: FetchEvent) { tell(sampler.withLock { $0.takeUntold(now: event.time) }) }

  private func tell(_ all: [FailureSampler.Untold]) {
    for untold in all {
      var metadata: Logger.Metadata = ["count": "\(untold.count)"]
      metadata["server"] = untold.kind.server.map { "\($0.onOneLine)" }
      metadata["operation"] = text(of: untold.kind.operation)
      metadata["reason"] = untold.kind.reason.map { "\($0)" }
      logger.log(level: untold.level, "more calls failed alike", metadata: metadata)
    }
  }

  private func metadata(
    of ledger: AttemptLedger, _ event: FetchEvent, openFor age: Duration = .zero
  ) -> Logger.Metadata {
    var metadata: Logger.Metadata = [
      "call": "\(event.callID)", "attempts": "\(ledger.attempts.count)",
      "duration_ms": "\(((ledger.elapsed + age) / .microseconds(1)).rounded() / 1000)",
    ]
    metadata["operation"] = text(of: event.operation)
    metadata["request"] = ledger.request.map { "\(redaction.text($0).onOneLine)" }
    return metadata
  }

  private func text(of operation: String?) -> Logger.Metadata.Value? {
    operation.map { "\(redaction.text($0).onOneLine)" }
  }
}
