// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
import HTTPTypes
public import Logging

/// Logs requests and their results with swift-log. Secrets are masked unless that is switched off.
///
/// Messages are constant texts, suitable for counting and filtering. Details are in the metadata: `call` and `attempt`
/// (the same for all related messages), `hop`, `operation`, `method`, `url`, `status`, `duration_ms`, `bytes`,
/// `http_version`, `remote`, `reused`, `stage`, `code`, `error`, `hint` and `engine_code` (the engine's own code of the
/// failure). `headers`, `body` and `curl` are included if requested. Every value is on one line.
///
/// Scheduled requests and cancellations by the caller are logged at level debug, successes at info, and failed
/// attempts, which may be retried, at warning.
///
/// The interceptor changes no request and asks for no retry. Put it last to log requests as they are sent.
///
/// ```swift
/// configuration.interceptors = [
///   .retry,
///   LoggingInterceptor(logger: Logger(label: "github"), verbosity: .headers),
/// ]
/// ```
public struct LoggingInterceptor: HTTPResourceInterceptor, PromptInterceptor {
  /// The amount of detail to log.
  public enum Verbosity: Sendable, Hashable {
    /// Logs the method, the URL, the status, times and failures.
    case basic
    /// Adds the header fields, with secret values masked.
    case headers
    /// Adds the header fields, and for every body in memory that is text, at most the given number of bytes.
    case bodies(limit: Int)
  }

  /// The log levels of the messages.
  private enum Levels {
    /// A request that is passed to the transport.
    static let scheduled = Logger.Level.debug
    static let succeeded = Logger.Level.info
    /// A failed attempt, which may be retried.
    static let failed = Logger.Level.warning
    /// A cancellation by the caller.
    static let cancelled = Logger.Level.debug
  }

  private let logger: Logger
  private let verbosity: Verbosity
  private let redaction: Redaction
  private let rendersCurlCommands: Bool

  /// Creates an interceptor.
  ///
  /// - Parameters:
  ///   - logger: the logger. Its own level determines which messages are computed at all.
  ///   - verbosity: the amount of detail.
  ///   - redaction: the rules for masking, in addition to the secrets named by a request's options.
  ///   - rendersCurlCommands: whether scheduled requests are also logged as `curl` commands. Their bodies are shown
  ///     only if `verbosity` includes bodies.
  public init(
    logger: Logger, verbosity: Verbosity = .basic, redaction: Redaction = .standard, rendersCurlCommands: Bool = false
  ) {
    self.logger = logger
    self.verbosity = verbosity
    self.redaction = redaction
    self.rendersCurlCommands = rendersCurlCommands
  }

  /// Logs "request scheduled".
  public func interceptScheduled(_ request: ResourceRequest, context: AttemptContext) async {
    guard logger.logLevel <= Levels.scheduled else { return }
    let redaction = redaction.adding(request)
    var metadata = metadata(request, context, redaction)
    add(request.head.headerFields, to: &metadata, redaction)
    if let limit = bodyLimit, !request.body.isEmpty {
      metadata["body"] = "\(Self.describe(request.body, limit, redaction))"
    }
    if rendersCurlCommands {
      let command = CurlCommand.render(request, redaction: redaction, maximumBodyBytes: bodyLimit ?? 0)
      metadata["curl"] = "\(command.onOneLine)"
    }
    logger.log(level: Levels.scheduled, "request scheduled", metadata: metadata)
  }

  /// Logs "request succeeded".
  public func interceptSucceeded(
    _ request: ResourceRequest, response: ResourceResponse, body: Data?, context: AttemptContext
  ) async {
    guard logger.logLevel <= Levels.succeeded else { return }
    let redaction = redaction.adding(request)
    var metadata = metadata(request, context, redaction)
    add(response, body, to: &metadata, redaction)
    logger.log(level: Levels.succeeded, "request succeeded", metadata: metadata)
  }

  /// Logs "request failed", "request cancelled", or "request not made" if no request was passed to the transport.
  public func interceptFailed(
    _ request: ResourceRequest?, response: ResourceResponse?, body: Data?, error: HTTPFetchError<any Error>,
    context: AttemptContext
  ) async -> Retry.Action {
    let level = error.isCancelled ? Levels.cancelled : Levels.failed
    guard logger.logLevel <= level else { return .none }
    let redaction = request.map { self.redaction.adding($0) } ?? self.redaction
    var metadata = metadata(request, context, redaction)
    if let response { add(response, body, to: &metadata, redaction) }
    metadata["stage"] = "\(error.stage.rawValue)"
    metadata["code"] = "\(error.code)"
    metadata["error"] = "\(redaction.text(error.message, of: error).onOneLine)"
    if let hint = error.hint { metadata["hint"] = "\(redaction.text(hint, of: error).onOneLine)" }
    if let engineCode = error.engineCode { metadata["engine_code"] = "\(engineCode)" }
    let failure: Logger.Message = context.wasScheduled ? "request failed" : "request not made"
    logger.log(level: level, error.isCancelled ? "request cancelled" : failure, metadata: metadata)
    return .none
  }
}

extension LoggingInterceptor {
  private var bodyLimit: Int? {
    if case .bodies(let limit) = verbosity { max(0, limit) } else { nil }
  }

  private func metadata(
    _ request: ResourceRequest?, _ context: AttemptContext, _ redaction: Redaction
  ) -> Logger.Metadata {
    var metadata: Logger.Metadata = ["call": "\(context.callID)", "attempt": "\(context.attempt)"]
    if context.hop > 0 { metadata["hop"] = "\(context.hop)" }
    guard let request else { return metadata }
    metadata["method"] = "\(request.head.method.rawValue)"
    metadata["url"] = "\(redaction.url(request.url).onOneLine)"
    if let operation = request.options.operation { metadata["operation"] = "\(redaction.text(operation).onOneLine)" }
    return metadata
  }

  private func add(
    _ response: ResourceResponse, _ body: Data?, to metadata: inout Logger.Metadata, _ redaction: Redaction
  ) {
    let facts = response.facts
    metadata["status"] = "\(response.status.code)"
    metadata["duration_ms"] = "\(facts.timings.total.milliseconds)"
    metadata["bytes"] = "\(facts.bytesReceived)"
    metadata["reused"] = "\(facts.connectionReused)"
    if let version = facts.httpVersion { metadata["http_version"] = "\(version)" }
    if let address = facts.remoteAddress { metadata["remote"] = "\(address)" }
    add(response.headerFields, to: &metadata, redaction)
    if let limit = bodyLimit, let body, !body.isEmpty { metadata["body"] = "\(Self.describe(body, limit, redaction))" }
  }

  private func add(_ fields: HTTPFields, to metadata: inout Logger.Metadata, _ redaction: Redaction) {
    guard verbosity != .basic else { return }
    metadata["headers"] = .array(
      fields.map { .string("\($0.name.rawName): \(redaction.value(of: $0))".onOneLine) })
  }

  private static func describe(_ body: RequestBody, _ limit: Int, _ redaction: Redaction) -> String {
    switch body.source {
    case .empty: ""
    case .bytes(let data): describe(data, limit, redaction)
    case .file(_, let length): "<\(length) bytes of a file>"
    case .stream(let length, _, _): length.map { "<\($0) bytes of a stream>" } ?? "<a stream>"
    }
  }

  private static func describe(_ body: Data, _ limit: Int, _ redaction: Redaction) -> String {
    BodySnippet(body, limit: limit, redaction: redaction).text.onOneLine
  }
}

extension Duration {
  fileprivate var milliseconds: Double {
    let (seconds, attoseconds) = components
    return Double(seconds) * 1000 + Double(attoseconds / 1_000_000_000_000) / 1000
  }
}
