// SPDX-License-Identifier: Apache-2.0

import Foundation
import Lastro
import LastroCurl
import LastroEveryday
import LastroHTTP
import LastroObservability
import LastroResilience
import LastroSupport
import LastroTesting
import TestSupport
import Testing

/// A way to send a request, and whether its body is streamed.
private enum Place: String, CaseIterable, CustomTestStringConvertible {
  case engine = "the engine"
  case engineStream = "the engine, as a stream"
  case dialer = "HTTP over a dialer"
  case dialerStream = "HTTP over a dialer, as a stream"

  var isStream: Bool { self == .engineStream || self == .dialerStream }
  var testDescription: String { rawValue }
}

/// An option, and a check of whether a request obeys it.
private struct Row: CustomTestStringConvertible {
  let name: String
  let isObeyed: @Sendable (Trial) async throws -> Bool

  var testDescription: String { name }
}

/// A server, and requests with options in a stack that has no layer.
private struct Trial: Sendable {
  final class Operations: FetchObserver {
    let names = EventRecorder<String?>()
    func observe(_ event: FetchEvent) { if case .callEnded = event.kind { names.record(event.operation) } }
  }

  let server: LoopbackServer
  let operations = Operations()
  private let place: Place
  private let stack: TransportNetworkStack

  init(_ place: Place) throws {
    self.place = place
    server = try .http(respond: Self.answer)
    var engine = CurlConfiguration()
    engine.connection.proxy = .none
    let transport = try CurlTransport(engine)
    let isDialer = place == .dialer || place == .dialerStream
    var configuration = StackConfiguration()
    configuration.observers = [operations]
    stack = TransportNetworkStack(
      transport: isDialer ? try DialerTransport(over: transport) : transport,
      configuration: configuration)
  }

  private static func answer(_ request: LoopbackRequest) -> LoopbackResponse {
    switch request.pathSegments.first {
    case "empty": LoopbackResponse()
    case "stall": .fault(.stall)
    case "moved": LoopbackResponse(status: 302).adding("Location", "/ok")
    case "away":
      LoopbackResponse(status: 302).adding(
        "Location", "http://localhost:\(request.head["Host"]?.split(separator: ":").last ?? "")/echo")
    case "echo": .text("key \(request.head["Idempotency-Key"] ?? "-") own \(request.head["X-Own"] ?? "-")")
    case "priority": .text(request.head["Priority"] ?? "-")
    case "hints": .text("hello").after(interim: 103)
    case "down": .text("down", status: 503)
    case "jar": .text(request.head["Cookie"] ?? "-").adding("Set-Cookie", "a=1")
    case "secret": .text("PLANTED", status: 404)
    default: .text("hello")
    }
  }

  /// Returns the text of the response and the ledger; for a failure, its stage and code, its full text and its ledger.
  func get(
    _ path: String, host: String = "127.0.0.1", headers: RawHeaders = [:], _ set: (inout RequestOptions) -> Void
  ) async throws -> (text: String, words: String, error: String, ledger: String) {
    var options = RequestOptions()
    options.timeouts = .streaming
    set(&options)
    let request = try ResourceRequest(
      url: "http://\(host):\(server.port)\(path)", headers: headers, options: options)
    do {
      let resource = RawHTTPResource.raw(request)
      if !place.isStream {
        let answer = try await stack.fetch(resource)
        return (String(decoding: answer.value, as: UTF8.self), "", "", "\(answer.response.ledger)")
      }
      let answer = try await stack.stream(resource)
      let body = try await answer.value.collect(upTo: 1_000)
      return (String(decoding: body, as: UTF8.self), "", "", "\(answer.response.ledger)")
    } catch let error as HTTPFetchError<any Error> {
      return ("", error.words, "\(error) \(error.debugDescription)", "\(error.ledger)")
    } catch let error as TransportError {
      return ("", error.words, "\(error)", "")
    }
  }
}

@Suite("Request options in every place", .timeLimit(.minutes(15)))
struct RequestOptionTableTests {
  /// Options that only name or describe a request.
  private static let names: [Row] = [
    Row(name: "operation") { trial in
      _ = try await trial.get("/ok") { $0.operation = "greet" }
      return trial.operations.names.events == ["greet"]
    },
    Row(name: "urlTemplate") { try await $0.get("/ok") { $0.urlTemplate = "/{name}" }.text == "hello" },
    Row(name: "sensitiveHeaders") { trial in
      let plain = try await trial.get("/away", headers: ["X-Own": "mine"]) { _ in }
      let hidden = try await trial.get("/away", headers: ["X-Own": "mine"]) {
        if let name = HTTPField.Name("X-Own") { $0.sensitiveHeaders = [name] }
      }
      return plain.text.hasSuffix("own mine") && hidden.text.hasSuffix("own -")
    },
    Row(name: "shownQueryItems") {
      try await $0.get("/ok?place=paris") { $0.shownQueryItems = ["place"] }.ledger.contains("place=paris")
    },
    Row(name: "sensitiveQueryItems") { trial in
      let answer = try await trial.get("/ok?place=paris") {
        $0.shownQueryItems = ["place"]
        $0.sensitiveQueryItems = ["place"]
      }
      return answer.ledger.contains("place=***")
    },
    Row(name: "secrets") { trial in
      let shown = try await trial.get("/secret") { _ in }.error
      let hidden = try await trial.get("/secret") { $0.secrets = ["PLANTED"] }.error
      return shown.contains("PLANTED") && !hidden.contains("PLANTED")
    },
  ]

  private static let limits: [Row] = [
    Row(name: "timeouts") {
      try await $0.get("/stall") { $0.timeouts?.total = .milliseconds(100) }.words == "timeout/total_timeout"
    },
    Row(name: "maximumBodyBytes") {
      try await $0.get("/ok") { $0.maximumBodyBytes = 2 }.words == "limit/body_too_large"
    },
    Row(name: "redirects") {
      try await $0.get("/moved") { $0.redirects = RedirectPolicy.none }.words == "http/unexpected_status"
    },
    Row(name: "requiresBody") { try await $0.get("/empty") { $0.requiresBody = true }.words == "response/no_data" },
    Row(name: "idempotency") {
      try await $0.get("/echo") { $0.idempotency = .key("k-1") }.text.hasPrefix("key k-1 ")
    },
    Row(name: "connection") { trial in
      let answer = try await trial.get("/ok", host: "fixed.example") {
        var connection = ConnectionOptions()
        connection.proxy = .none
        connection.resolutions = [.init(host: "fixed.example", port: trial.server.port, addresses: ["127.0.0.1"])]
        $0.connection = connection
      }
      return answer.text == "hello"
    },
    Row(name: "progress") { trial in
      let progress = TransferProgressReporter()
      _ = try await trial.get("/ok") { $0.progress = progress }
      return progress.current.bytesReceived == 5
    },
    Row(name: "onInterimResponse") { trial in
      let statuses = EventRecorder<Int>()
      _ = try await trial.get("/hints") { $0.onInterimResponse = { statuses.record($0.status.code) } }
      return statuses.events == [103]
    },
    Row(name: "priority") { trial in
      let none = try await trial.get("/priority") { _ in }.text
      let own = try await trial.get("/priority", headers: ["Priority": "u=1"]) { $0.priority = RequestPriority() }.text
      let sent = try await trial.get("/priority") { $0.priority = .init(urgency: 7, isIncremental: true) }.text
      let wrong = try await trial.get("/priority") { $0.priority = .init(urgency: 8) }.words
      return [none, own, sent, wrong] == ["-", "u=1", "u=7, i", "request/invalid_option"]
    },
  ]

  /// Options of layers, in a stack that has no layer.
  private static let layers: [Row] = [
    Row(name: "resilience") { trial in
      let breaker = try CircuitBreaker(window: .calls(2), minimumCalls: 2)
      var words: [String] = []
      for _ in 0..<3 {
        words.append(try await trial.get("/down") { $0.resilience = .with(Resilience(breaker: breaker)) }.words)
      }
      return words == ["http/unexpected_status", "http/unexpected_status", "policy/circuit_open"]
    },
    Row(name: "cookies") { trial in
      let jar = CookieJar()
      var sent: [String] = []
      for _ in 0..<2 { sent.append(try await trial.get("/jar") { $0.cookies = .with(jar) }.text) }
      return sent == ["-", "a=1"]
    },
    Row(name: "cache") { trial in
      let words = try await trial.get("/ok") { $0.cache = .onlyStored }.words
      return words == "http/unexpected_status" && trial.server.requests.isEmpty
    },
    // Without a cache, nothing is stored for any principal.
    Row(name: "principal") { try await $0.get("/ok") { $0.principal = "ann" }.text == "hello" },
  ]

  private static let rows = names + limits + layers

  @Test("Each option takes effect in each place", arguments: rows, Place.allCases)
  private func obeyed(_ row: Row, _ place: Place) async throws {
    #expect(try await row.isObeyed(try Trial(place)), "\(row.name) over \(place.rawValue)")
  }

  /// Checks the labels of all options. Some belong to the package, the four options of the layers share a property, and
  /// `endsWithResponse` has an effect over HTTP/2 only, in `HTTP2EarlyAnswerTests`.
  @Test("The table has every option")
  func complete() {
    var labels: [String] = []
    func walk(_ value: Any, depth: Int) {
      for child in Mirror(reflecting: value).children {
        if depth == 3 { labels.append(child.label ?? "") } else { walk(child.value, depth: depth + 1) }
      }
    }
    walk(RequestOptions(), depth: 0)
    let expected = Set(Self.names.map(\.name) + Self.limits.map(\.name)).subtracting(["urlTemplate"])
    let ofLibrary: Set = [
      "firstElement", "hostField", "withheldBody", "uncodedBody", "layerUses", "tape", "notes", "endsWithResponse",
    ]
    #expect(Set(labels) == expected.union(ofLibrary))
  }
}
