// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials
import HTTPTypes
import Logging

/// The interceptor that `.logging(_:verbosity:redaction:rendersCurlCommands:)` makes, where it is documented.
package struct LoggingInterceptor: HTTPResourceInterceptor, PromptInterceptor {
  package typealias Verbosity = StandardInterceptor.Verbosity

  let logger: Logger
  var verbosity = Verbosity.basic
  var redaction = Redaction.standard
  var rendersCurlCommands = false

  /// Logs "request scheduled".
  package func interceptScheduled(_ request: ResourceRequest, context: AttemptContext) async {
    guard logger.logLevel <= .debug else { return }
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
    logger.log(level: .debug, "request scheduled", metadata: metadata)
  }

  /// Logs "request succeeded".
  package func interceptSucceeded(
    _ request: ResourceRequest, response: ResourceResponse, body: Data?, context: AttemptContext
  ) async {
    guard logger.logLevel <= .info else { return }
    let redaction = redaction.adding(request)
    var metadata = metadata(request, context, redaction)
    add(response, body, to: &metadata, redaction)
    logger.log(level: .info, "request succeeded", metadata: metadata)
  }

  /// Logs "request failed", "request cancelled", or "request not made" if no request was passed to the transport.
  package func interceptFailed(
    _ request: ResourceRequest?, response: ResourceResponse?, body: Data?, error: HTTPFetchError<any Error>,
    context: AttemptContext
  ) async -> Retry.Action {
    let level: Logger.Level = error.isCancelled ? .debug : .warning
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
