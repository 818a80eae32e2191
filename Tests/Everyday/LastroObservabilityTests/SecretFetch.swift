// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import HTTPTypes
import InMemoryTracing
import LastroSupport
import LastroTesting
import Logging
import TestSupport
import Testing
import Tracing

@testable import Lastro
@testable import LastroObservability

/// Fetches through one scenario, and records everything that can be printed, logged or rendered, by its place.
struct SecretFetch {
  struct Output: Sendable {
    var place: String
    var text: String
  }

  let scenario: SecretScenario
  var endpoint = SecretEndpoint()
  let outputs = Lock<[Output]>([])

  var all: [Output] { outputs.withLock { $0 } }

  /// Runs the fetch. The outputs are complete when it returns.
  func run() async throws {
    switch scenario {
    case .undecodableKeys: try await run(SecretScenario.Keyed.self, errors: .json(APIFailure.self))
    case .statusWithTextError:
      try await run(Model.self, errors: ErrorDecoding<TextAPIError, Data, ResourceResponse>.text)
    case .status: try await run(Model.self, errors: ErrorDecoding<TextAPIError, Data, ResourceResponse>.dummy)
    default: try await run(Model.self, errors: .json(APIFailure.self))
    }
  }

  private func run<M: Decodable & Sendable, E: Error>(
    _ model: M.Type, errors: ErrorDecoding<E, Data, ResourceResponse>
  ) async throws {
    let (logger, entries) = RecordingLogHandler.make()
    let logging = LoggingInterceptor(logger: logger, verbosity: .bodies(limit: 1_000_000), rendersCurlCommands: true)
    let short = LoggingInterceptor(logger: logger, verbosity: .bodies(limit: 100))
    let transport = ScriptedTransport(scenario.steps)
    var configuration = StackConfiguration()
    configuration.timeSource = ManualClock(autoAdvance: true).timeSource
    configuration.bodySnippetBytes = 1_000_000
    if scenario == .bodyTooLarge { configuration.maximumBodyBytes = 1000 }
    let recorder = HARRecorder()
    let tracer = InMemoryTracer()
    if endpoint.isMarked {
      configuration.observers = [
        Observer(fetch: self), recorder, .tracing(tracer: tracer), .logging(to: logger),
      ]
    }
    configuration.interceptors = [SessionInterceptor(isMarked: endpoint.isMarked), hooks, logging, short]
    let stack = TransportNetworkStack(transport: transport, configuration: configuration)
    var resource = HTTPResource<M, E>(endpoint, decoding: .json(M.self), errorDecoding: errors)
    if scenario == .noData { resource.options.requiresBody = true }
    if scenario == .makerThrows { resource.baseRequestMaking = BaseRequestMaking { throw SecretScenario.Broken() } }
    // For a failure before the endpoint is asked, only the resource's own options name the secrets.
    if scenario == .makerThrows, endpoint.isMarked { resource.options.secrets = Set(Planted.allCases.map(\.secret)) }
    await fetch(resource, from: stack, transport)
    keep("configuration", configuration)
    keep("resource", resource)
    keep("endpoint's options", endpoint.options)
    if endpoint.isMarked { for request in transport.requests.prefix(4) { keep("transport's request", request) } }
    keepText("archive", String(decoding: try recorder.har(), as: UTF8.self))
    for span in tracer.finishedSpans { keep(span) }
    for entry in entries.withLock({ $0 }) {
      outputs.withLock { $0.append(Output(place: "log, \(entry.message)", text: entry.text)) }
    }
  }

  private func fetch<M, E>(
    _ resource: HTTPResource<M, E>, from stack: TransportNetworkStack, _ transport: ScriptedTransport
  ) async {
    let task = Task { () -> Result<Fetched<M, ResourceResponse>, HTTPFetchError<E>> in
      do throws(HTTPFetchError<E>) {
        return .success(try await stack.fetch(resource))
      } catch {
        return .failure(error)
      }
    }
    if scenario == .cancelled {
      #expect(await eventually { transport.requests.count >= 2 })
      task.cancel()
    }
    switch await task.value {
    case .success(let value):
      keep("response", value.response)
      keep("ledger", value.response.ledger)
    case .failure(let error): keep(error)
    }
  }

  private func keep<E>(_ error: HTTPFetchError<E>) {
    keep("error", error)
    keep("erased error", error.erased)
    keep("message", error.message)
    keep("hint", error.hint)
    keep("request", error.request)
    keep("snippet", error.bodySnippet)
    switch error.retryEnd {
    // An error of the application is returned unchanged. The texts of the fetch error mask it.
    case .policy(.custom(_ as SecretScenario.Broken)): break
    case let end: keep("retry end", end)
    }
    keep("attempts", error.attempts)
    keep("ledger", error.ledger)
    keep("ledger's JSON", error.ledger.json())
    keep("response", error.response)
    keep("wrapped", FetchAndDecodeError<HTTPFetchError<E>>.fetch(error))
    keep("mapped", error.mapAPIError { _ in APIFailure(message: "mapped") })
    switch error.reason {
    case .transport(let cause), .badResponse(let cause), .redirect(let cause): keep("cause", cause)
    case .noRequest(let cause as TransportError): keep("cause", cause)
    case .decode(let failure): keep("decode failure", failure)
    default: break
    }
    keep("failures of the state", error.retryFailure?.state.errors)
    if let apiError = error.apiError as? TextAPIError { keep("API error as text", apiError) }
  }

  /// An observer that records every event.
  private struct Observer: FetchObserver {
    let fetch: SecretFetch

    func observe(_ event: FetchEvent) { fetch.keep("event", event) }
  }

  /// The hooks that record everything interceptors receive.
  private var hooks: Hooks {
    var hooks = Hooks()
    hooks.make = { result, context in
      keep("context", context)
      guard case .success(var request) = result else { return result }
      keep("made request", request)
      if scenario == .interceptorThrows { return .failure(SecretScenario.Broken()) }
      if scenario == .requestRefused { request.head.path = (request.head.path ?? "") + "\u{7F} " + Planted.echoField }
      return .success(request)
    }
    hooks.scheduled = { request, context in
      keep("scheduled request", request)
      keep("context", context)
      for limit in [0, 40, 1_000_000] { keep("curl", CurlCommand.render(request, maximumBodyBytes: limit)) }
    }
    hooks.succeeded = { _, response, _, _ in keep("response told", response) }
    hooks.failed = { failure in
      keep("request told", failure.request)
      keep("response told", failure.response)
      keep("error told", failure.error)
      keep("context", failure.context)
      return scenario.action(failure.context)
    }
    return hooks
  }

  private func keepText(_ place: String, _ text: String) {
    outputs.withLock { $0.append(Output(place: place, text: text)) }
  }

  private func keep(_ span: FinishedInMemorySpan) {
    var texts = [span.operationName, span.status?.message ?? ""]
    for attributes in [span.attributes] + span.events.map(\.attributes) {
      attributes.forEach { name, value in texts.append("\(name)=\(value)") }
    }
    keepText("span", texts.joined(separator: "\n"))
  }

  /// Records a value in every form in which it might be printed.
  fileprivate func keep<Value>(_ place: String, _ value: Value) {
    var dumped = ""
    dump(value, to: &dumped)
    var walked: [String] = []
    Self.walk(value, depth: 0, &walked)
    var texts = ["print": "\(value)", "reflecting": String(reflecting: value), "dump": dumped]
    texts["mirror"] = walked.joined(separator: "\n")
    texts["JSON"] = (value as? any Encodable).flatMap { try? String(decoding: JSONEncoder().encode($0), as: UTF8.self) }
    outputs.withLock { outputs in
      for (way, text) in texts { outputs.append(Output(place: "\(place), \(way)", text: text)) }
    }
  }

  private static func walk(_ value: Any, depth: Int, _ texts: inout [String]) {
    guard depth < 12, texts.count < 5000 else { return }
    if depth > 0 { texts.append("\(value)") }
    for child in Mirror(reflecting: value).children {
      if let label = child.label { texts.append(label) }
      walk(child.value, depth: depth + 1, &texts)
    }
  }
}

/// A place in which a secret is planted. Each place has its own secret, so that a search shows which one leaked.
enum Planted: String, CaseIterable {
  case header, cookie, basicPassword, query, pathSegment, jsonField, formField, proxyPassword, keyPassword, sessionToken

  /// The text of the secret. No name in it gives it away, and it contains characters that each notation escapes.
  var text: String {
    switch self {
    // Spaces and quotes would end a cookie.
    case .cookie: "c00kie-+/%41=~\\é-" + rawValue
    default: rawValue + " s3c\"r%2Ft\\/&=+<é🔑>'~"
    }
  }

  var secret: Secret { Secret(text) }

  /// A text that a server might send back: each secret in every notation, one per line.
  static let echo: String = {
    allCases.flatMap { planted in
      SecretNotation.all(of: planted.text).map {
        "it was \($0.text) in " + String(planted.rawValue.prefix(2))
      }
    }.joined(separator: "\n")
  }()

  /// The same secrets in the form that a header field can carry. The next property is the form for a URL.
  static let echoField: String = {
    allCases.map { "[" + $0.text + "] " + Data($0.text.utf8).base64EncodedString() }.joined(separator: ", ")
  }()

  static let echoURL: String = {
    let texts = allCases.map(\.text)
    let path = texts.map { $0.percentEncoded(keeping: .unreserved) }.joined(separator: "/")
    return "/echo/" + path + "?" + texts.map { "q=" + $0.pathSegment.lowercasedEscapes }.joined(separator: "&")
  }()

  /// Returns the secrets found in a text, by place and notation.
  static func found(in text: String) -> [String] {
    // C's search is fast even in a debug build, but it stops at a NUL.
    text.replacing("\0", with: " ").withCString { text in
      notations.filter { notation in notation.text.withCString { strstr(text, $0) != nil } }.map(\.name)
    }
  }

  private static let notations: [(name: String, text: String)] = allCases.flatMap { planted in
    // `dump` prints bytes as a list of numbers, each after a dash.
    let numbers = planted.text.utf8.prefix(12).map(String.init)
    let name = planted.rawValue
    let beforeQuote = planted.text.prefix(planted == .cookie ? 9 : name.count + 5)
    // Separate statements: the compiler took twelve seconds for one expression.
    var notations: [(name: String, text: String)] = []
    for notation in SecretNotation.all(of: planted.text) where !notation.name.hasPrefix("base64 of") {
      notations.append(("\(name), \(notation.name)", notation.text))
    }
    notations.append(("\(name), as Basic credentials", Data("ann:\(planted.text)".utf8).base64EncodedString()))
    notations.append(("\(name), as numbers", numbers.joined(separator: ", ")))
    notations.append(("\(name), without what follows a quote", String(beforeQuote)))
    return notations
  }
}

extension String {
  /// The text with its percent-encoding in lower case.
  var lowercasedEscapes: String { SecretNotation.lowerCaseEscapes(self) }
}

/// An endpoint with a secret in every place that can have one.
struct SecretEndpoint: HTTPResourceEndpoint {
  /// The format of the body.
  enum Body: String, CaseIterable {
    case json, form
  }

  /// Whether the secrets are marked as such. The search must find all of them in the same request made of plain
  /// strings.
  var isMarked = true
  var body = Body.json

  struct Note: Encodable {
    var note: Secret
    var title = "note"
  }

  var method: HTTPRequest.Method { .put }
  var baseURL: URL { URL(string: "https://example.com/v1") ?? URL(filePath: "/") }
  var path: String? { isMarked ? "/notes" : "/notes/" + Planted.pathSegment.text.pathSegment }
  var queryItems: [URLQueryItem]? {
    [URLQueryItem(name: "x", value: "1")]
      + (isMarked ? [] : [URLQueryItem(name: "q", value: Planted.query.text)])
  }

  var headers: RawHeaders? {
    isMarked
      ? ["X-Plain": "plain"]
      : [
        "X-Note": Planted.header.text, "X-Biscuit": "sid=" + Planted.cookie.text,
        "X-Basic": "Basic " + Self.basic.reveal(),
      ]
  }

  var options: RequestOptions {
    var options = RequestOptions()
    options.operation = "putNote"
    options.connection = ConnectionOptions()
    let password = Planted.proxyPassword.text.percentEncoded(keeping: .unreserved)
    options.connection?.proxy = .url("http://joe:\(password)@proxy.example:8080")
    options.connection?.tls.identity = .init(certificate: .file("/c.pem"), keyPassword: Planted.keyPassword.text)
    if isMarked {
      options.secrets = [Planted.basicPassword.secret]
    } else {
      options.connection = nil
    }
    return options
  }

  static let basic = Secret(Data("ann:\(Planted.basicPassword.text)".utf8).base64EncodedString())

  func makeBody() throws -> RequestBody? {
    switch (body, isMarked) {
    case (.json, true): try .json(Note(note: Planted.jsonField.secret))
    case (.form, true): .form(["title": "note"], secrets: ["note": Planted.formField.secret])
    case (.json, false): try .json(["note": Planted.jsonField.text])
    case (.form, false): .form(["note": Planted.formField.text])
    }
  }

  func addSecrets(to request: inout ResourceRequest) throws {
    guard isMarked else { return }
    try request.setHeader("X-Note", Planted.header.secret)
    try request.setHeader("Cookie", Planted.cookie.secret, prefix: "sid=")
    try request.setHeader("Authorization", Self.basic, prefix: "Basic ")
    try request.appendQueryItem("q", Planted.query.secret)
    try request.appendPathSegment(Planted.pathSegment.secret)
    // The server repeats the secret of the other body, too.
    request.options.secrets.insert(body == .json ? Planted.formField.secret : Planted.jsonField.secret)
  }
}

/// An interceptor that adds a secret, as an authenticator does.
struct SessionInterceptor: HTTPResourceInterceptor {
  var isMarked = true

  func interceptMakeRequest(
    _ result: Result<ResourceRequest, any Error>, context: AttemptContext
  ) async -> Result<ResourceRequest, any Error> {
    result.flatMap { request in
      Result {
        var request = request
        if isMarked {
          try request.setHeader("X-Session", Planted.sessionToken.secret, prefix: "v1 ")
        } else {
          try request.setHeader("X-Visit", Planted.sessionToken.text)
        }
        return request
      }
    }
  }
}
