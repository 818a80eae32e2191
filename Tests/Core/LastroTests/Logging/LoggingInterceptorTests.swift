// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import LastroSupport
import LastroTesting
import Logging
import TestSupport
import Testing

@testable import Lastro

@Suite("Logging", .timeLimit(.minutes(15)))
struct LoggingInterceptorTests {
  typealias Entries = Lock<[RecordingLogHandler.Entry]>

  struct Broken: Error, CustomStringConvertible {
    var description: String { "cannot reach https://u:PLANTED@h/?api_key=PLANTED" }
  }

  /// Returns a request that has a secret in every possible place.
  static func secretRequest() throws -> ResourceRequest {
    var request = try ResourceRequest(
      method: .post, url: "https://h.com/p?a=1&token=PLANTED&X-Amz-Signature=PLANTED&patient=PLANTED",
      headers: [
        .authorization: "Bearer PLANTED", .cookie: "sid=PLANTED", "X-Api-Key": "PLANTED", "X-Patient": "PLANTED",
      ],
      body: .raw(#"{"user":"ann","password":"PLANTED","nested":{"refresh_token":["PLANTED"]}}"#))
    request.options.sensitiveHeaders = [try #require(HTTPField.Name("X-Patient"))]
    request.options.sensitiveQueryItems = ["patient"]
    request.options.operation = "post"
    return request
  }

  static var secretResponse: ScriptedTransport.Step {
    .respond(
      status: 200, headers: [.setCookie: "sid=PLANTED", .location: "https://u:PLANTED@h/?code=PLANTED"],
      body: #"{"id":7,"access_token":"PLANTED","list":[{"client_secret":"PLANTED"}]}"#)
  }

  /// Fetches with the interceptor, and returns all log entries.
  static func entries(
    _ verbosity: LoggingInterceptor.Verbosity, _ steps: [ScriptedTransport.Step], request: ResourceRequest? = nil,
    level: Logger.Level = .trace, curl: Bool = false, redaction: Redaction = .standard
  ) async throws -> [RecordingLogHandler.Entry] {
    let (logger, entries) = RecordingLogHandler.make(level: level)
    let interceptor = LoggingInterceptor(
      logger: logger, verbosity: verbosity, redaction: redaction, rendersCurlCommands: curl)
    let stack = TransportNetworkStack(transport: ScriptedTransport(steps))
    let request = try request ?? secretRequest()
    _ = try? await stack.fetch(RawHTTPResource.raw(request, interceptors: [interceptor]))
    return entries.withLock { $0 }
  }

  @Test(
    "No planted secret appears in any log message",
    arguments: [LoggingInterceptor.Verbosity.basic, .headers, .bodies(limit: 10_000), .bodies(limit: 30)])
  func secrets(verbosity: LoggingInterceptor.Verbosity) async throws {
    let failure = TransportError(
      stage: .connect, code: .connectFailed, message: "no way to https://u:PLANTED@proxy/?token=PLANTED")
    let steps: [[ScriptedTransport.Step]] = [
      [Self.secretResponse], [.fail(failure)],
      [.respond(status: 401, headers: [.setCookie: "a=PLANTED"], body: "error=x&code=PLANTED&password=PLANTED")],
      [.respond(status: 302, headers: [.location: "/next?token=PLANTED"]), Self.secretResponse],
    ]
    for script in steps {
      let entries = try await Self.entries(verbosity, script, curl: true)
      #expect(entries.count >= 2)
      for entry in entries {
        #expect(!entry.text.contains("PLANTED"), "\(entry.text)")
        #expect(entry.text.contains("***"))
        #expect(!entry.text.contains("\n"))
      }
    }
  }

  @Test("The same secrets appear when redaction is off, so the search can find them")
  func redactionOff() async throws {
    let entries = try await Self.entries(.bodies(limit: 10_000), [Self.secretResponse], curl: true, redaction: .off)
    #expect(entries.allSatisfy { $0.text.contains("PLANTED") })
  }

  @Test("Errors of interceptors and endpoints are masked too")
  func thrown() async throws {
    let (logger, entries) = RecordingLogHandler.make()
    let resource = RawHTTPResource(
      baseRequestMaking: BaseRequestMaking { throw Broken() }, interceptors: [LoggingInterceptor(logger: logger)])
    _ = try? await TransportNetworkStack(transport: ScriptedTransport()).fetch(resource)
    let all = entries.withLock { $0 }
    #expect(all.map(\.message) == ["request not made"])
    #expect(all[0].metadata["error"]?.description.contains("cannot reach https://***@h/?api_key=***") == true)
    #expect(!all[0].text.contains("PLANTED"))
  }

  @Test("Level basic logs constant messages, with details in the metadata")
  func basic() async throws {
    let entries = try await Self.entries(.basic, [Self.secretResponse])
    #expect(entries.map(\.message) == ["request scheduled", "request succeeded"])
    #expect(entries.map(\.level) == [.debug, .info])
    for entry in entries {
      #expect(entry.metadata["method"] == "POST")
      #expect(entry.metadata["url"] == "https://h.com/p?a=1&token=***&X-Amz-Signature=***&patient=***")
      #expect(entry.metadata["operation"] == "post")
      #expect(entry.metadata["attempt"] == "1")
      #expect(entry.metadata["headers"] == nil && entry.metadata["body"] == nil && entry.metadata["curl"] == nil)
    }
    #expect(entries[0].metadata["call"] == entries[1].metadata["call"])
    #expect(entries[1].metadata["status"] == "200")
  }

  @Test("The operation is masked and on one line")
  func operation() async throws {
    var request = try Self.secretRequest()
    request.options.operation = "get\nPLANTED-9 token=PLANTED"
    request.options.secrets = ["PLANTED-9"]
    let entries = try await Self.entries(.basic, [Self.secretResponse], request: request)
    #expect(entries.count == 2 && entries.allSatisfy { $0.metadata["operation"] == "get\\n*** token=***" })
  }

  @Test("Header fields are logged in order, with secrets masked")
  func headers() async throws {
    let entries = try await Self.entries(.headers, [Self.secretResponse])
    guard case .array(let fields) = entries[0].metadata["headers"] else {
      Issue.record("there are no header fields")
      return
    }
    let texts = fields.map(\.description)
    #expect(texts.prefix(4) == ["Authorization: ***", "Cookie: ***", "X-Api-Key: ***", "X-Patient: ***"])
    #expect(entries[1].metadata["headers"]?.description.contains("https://***@h/?code=***") == true)
    #expect(entries[0].metadata["body"] == nil)
  }

  @Test("Bodies are shortened, on one line, and omitted if they are binary")
  func bodies() async throws {
    func body(_ body: RequestBody, limit: Int) async throws -> String? {
      let request = try ResourceRequest(method: .post, url: "http://h", body: body)
      let entries = try await Self.entries(.bodies(limit: limit), [.respond(status: 200)], request: request)
      return entries.first?.metadata["body"]?.description
    }
    #expect(try await body(.raw("one\ntwo\u{1B}[31m"), limit: 100) == "one\\ntwo\\u{1B}[31m")
    #expect(try await body(.raw("1234567890"), limit: 4) == "1234… (10 bytes)")
    #expect(try await body(.raw([0xFF, 0xFE]), limit: 100) == "<2 bytes, not text>")
    #expect(try await body(.stream(AsyncStream<Data> { $0.finish() }), limit: 100) == "<a stream>")
    #expect(try await body(.empty, limit: 100) == nil)
    let entries = try await Self.entries(.bodies(limit: 8), [.respond(status: 200, body: "0123456789")])
    #expect(entries.last?.metadata["body"] == "01234567… (10 bytes)")
  }

  @Test("Failures are logged with stage, code and hint, at their level")
  func failures() async throws {
    let failure = TransportError(stage: .tls, code: .hostMismatch, message: "no", hint: "look", engineCode: 60)
    let entries = try await Self.entries(.basic, [.fail(failure)])
    #expect(entries.map(\.message) == ["request scheduled", "request failed"])
    #expect(entries.last?.level == .warning)
    #expect(entries.last?.metadata["stage"] == "tls")
    #expect(entries.last?.metadata["code"] == "host_mismatch")
    #expect(entries.last?.metadata["hint"] == "look")
    #expect(entries.last?.metadata["engine_code"] == "60")
    let refused = try await Self.entries(.basic, [.respond(status: 503)])
    #expect(refused.last?.metadata["status"] == "503")
    #expect(refused.last?.metadata["stage"] == "http")
  }

  @Test("A cancellation is not logged as a warning")
  func cancelled() async throws {
    let (logger, entries) = RecordingLogHandler.make()
    let stack = TransportNetworkStack(transport: ScriptedTransport([.fail(.cancelled(requestSent: true))]))
    let resource = RawHTTPResource.raw(
      try Self.secretRequest(), interceptors: [LoggingInterceptor(logger: logger)])
    _ = try? await stack.fetch(resource)
    let last = try #require(entries.withLock { $0.last })
    #expect(last.message == "request cancelled")
    #expect(last.level == .debug)
  }

  @Test("Nothing is computed below the logger's level")
  func levels() async throws {
    #expect(try await Self.entries(.basic, [Self.secretResponse], level: .info).map(\.message) == ["request succeeded"])
    #expect(try await Self.entries(.basic, [Self.secretResponse], level: .warning).isEmpty)
    #expect(try await Self.entries(.basic, [.respond(status: 500)], level: .warning).count == 1)
    #expect(try await Self.entries(.basic, [.respond(status: 500)], level: .error).isEmpty)
  }

  @Test("The curl command has a body only if bodies are logged")
  func curl() async throws {
    let basic = try await Self.entries(.basic, [Self.secretResponse], curl: true)
    let command = try #require(basic.first?.metadata["curl"]?.description)
    #expect(command.hasPrefix("curl -X POST 'https://h.com/p?a=1&token=***"))
    #expect(command.hasSuffix("--data-binary @-"))
    let bodies = try await Self.entries(.bodies(limit: 1000), [Self.secretResponse], curl: true)
    #expect(bodies.first?.metadata["curl"]?.description.contains(#""user":"ann","password":"***""#) == true)
    #expect(bodies.last?.metadata["curl"] == nil)
  }
}
