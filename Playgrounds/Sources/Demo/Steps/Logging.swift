// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro
import LastroTesting
import Logging

extension Step {
  static let logging = Step(
    title: "Log lines, secrets redacted",
    explanation: """
      The interceptor .logging logs over swift-log, and masks credentials unless that is switched off.
      An authenticator puts the token on every request; here one request also has it in its URL, where it should not be.
      """
  ) { stage in
    let token = "demo-token"
    let lines = EventRecorder<String>()
    let logger = Logger(label: "demo") { _ in LineLogHandler(lines: lines) }
    let logging = StandardInterceptor.logging(logger, verbosity: .headers, rendersCurlCommands: true)
    let before = stage.server.requests.count

    stage.asked("fetch(.secret()) with a token that is refused, in the URL and in Authorization")
    do {
      _ = try await stage.stack.fetch(.secret(query: token, through: [BearerToken(token: "no-\(token)"), logging]))
      try stage.check("a wrong token is refused", false)
    } catch let error as HTTPFetchError<ForgeError> {
      for line in lines.events { stage.came(line) }
      try stage.check("the status is 401", error.statusCode == .unauthorized)
      try stage.check("the error does not print the token", !error.debugDescription.contains(token))
    }

    let heard = lines.events.count
    stage.asked("fetch(.secret()) with the right one")
    let secret = try await stage.stack.fetch(.secret(through: [BearerToken(token: token), logging]))
    for line in lines.events.dropFirst(heard) { stage.came(line) }
    try stage.check("the secret came", secret.value.secret == "the cake is real")
    try stage.check(
      "the server did get the token",
      stage.server.requests.dropFirst(before).map { $0.headers["Authorization"] } == [
        "Bearer no-\(token)", "Bearer \(token)",
      ])
    try stage.check("four lines were logged", lines.events.count == 4)
    try stage.check("no line has the token in it", !lines.events.contains { $0.contains(token) })
    try stage.check(
      "where it was, there is \(Redaction.mask)",
      lines.events[0].contains("access_token=\(Redaction.mask)") && lines.events[2].contains(Redaction.mask))
  }
}

/// An interceptor that adds a bearer token to requests (RFC 6750).
struct BearerToken: RequestAuthenticator, HTTPResourceInterceptor {
  let token: String

  func authenticate(_ request: ResourceRequest) async throws -> ResourceRequest {
    var request = request
    try request.setHeader("Authorization", "Bearer \(token)")
    return request
  }
}

/// A log handler that records log lines, so that the demo can check them.
private struct LineLogHandler: LogHandler {
  let lines: EventRecorder<String>
  var metadata: Logger.Metadata = [:]
  var logLevel: Logger.Level = .debug

  init(lines: EventRecorder<String>) { self.lines = lines }

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    let shown = ["method", "url", "status", "headers", "code", "curl"]
    let details = shown.compactMap { name in event.metadata?[name].map { "\(name)=\($0)" } }
    lines.record("\(event.level) \(event.message): \(details.joined(separator: " "))")
  }
}
