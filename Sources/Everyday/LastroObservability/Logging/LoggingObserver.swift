// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro
import LastroSupport
import Logging

/// Logs the lines of calls that `logging` of `FetchObserver` describes.
final class LoggingObserver: FetchObserver {
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

  init(
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
  func observe(_ event: FetchEvent) {
    switch event.kind {
    case .callEnded(let result):
      tellUntold(event)
      switch result {
      case .success(let response):
        if event.isStream, logger.logLevel <= max(levels.failed, levels.succeeded) {
          streams.withLock { $0[event.callID] = OpenStream(response: response, opened: event.time) }
        }
        succeeded(response, event)
      case .failure(let error): failed(error, event)
      }
    case .bodyEnded(let bytes, let error, _):
      let stream = streams.withLock { $0.removeValue(forKey: event.callID) }
      guard let error else { return bodySucceeded(bytes, stream, event) }
      if error.code != .cancelled { bodyFailed(error, stream, event) }
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

  private func bodySucceeded(_ bytes: Int64, _ stream: OpenStream?, _ event: FetchEvent) {
    tellUntold(event)
    guard logger.logLevel <= levels.succeeded, let stream else { return }
    var metadata = metadata(of: stream.response.ledger, event, openFor: event.time - stream.opened)
    metadata["status"] = "\(stream.response.status.code)"
    metadata["bytes"] = "\(bytes)"
    logger.log(level: levels.succeeded, "stream ended", metadata: metadata)
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
