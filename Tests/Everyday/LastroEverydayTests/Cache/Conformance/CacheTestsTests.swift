// SPDX-License-Identifier: Apache-2.0

import ConformanceData
import Foundation
import HTTPTypes
import Lastro
import LastroCurl
import LastroEveryday
import LastroSupport
import LastroTesting
import LastroWire
import TestSupport
import Testing

@Suite("Conformance: http-tests/cache-tests for a private cache", .timeLimit(.minutes(15)))
struct CacheTestsTests {
  /// Required cases that do not pass, each with its reason.
  static let deviations: [String: String] = [:]

  /// Cases that are not required, but that other cases depend on or that the cache exists for.
  static let wanted: Set<String> = [
    "freshness-none", "freshness-max-age", "freshness-expires-future", "vary-match", "vary-2-match", "vary-3-match",
    "stale-while-revalidate", "stale-close", "partial-store-complete-reuse-partial",
  ]

  /// Required cases that fail when requests go through the engine, each with its reason.
  static let deviationsOverTheEngine = [
    "headers-store-Transfer-Encoding": "a transfer coding that is not known is refused (RFC 9112 §7.4)"
  ]

  @Test("All of the 137 required cases pass, except those in the table")
  func required() async throws {
    let tests = try CacheTestCase.all()
    let failures = await Self.failures(tests) { $0 }
    let failed = Self.failed(tests, failures)
    #expect(Set(failed) == Set(Self.deviations.keys), "\(failed.map { "\($0): \(failures[$0] ?? "")" })")
    let missing = Self.wanted.filter { failures[$0] != nil }
    #expect(missing.isEmpty, "\(missing.map { "\($0): \(failures[$0] ?? "")" })")
    let fresh = tests.filter { $0.id.hasPrefix("status-") && $0.id.hasSuffix("-fresh") }
    #expect(fresh.count >= 13)
    for test in fresh { #expect(failures[test.id] == nil, "\(test.id): \(failures[test.id] ?? "")") }
  }

  @Test("Over the engine and a loopback server the same cases pass, except those the engine refuses")
  func overTheEngine() async throws {
    let tests = try CacheTestCase.all()
    let origins = Lock<[String: CacheTestOrigin]>([:])
    let server = try LoopbackServer.http { request in
      let fields = HTTPFields(
        request.head.fields.compactMap { field in
          HTTPField.Name(field.name).map { HTTPField(name: $0, value: field.value) }
        })
      let head = HTTPRequest(
        method: .init(request.head.method) ?? .get, scheme: "http", authority: "origin.test",
        path: request.head.target, headerFields: fields)
      let origin = fields[.testID].flatMap { id in origins.withLock { $0[id] } }
      guard let answer = origin?.answer(head) else { return .fault(.close) }
      var response = LoopbackResponse(status: answer.head.status.code, body: Array(answer.body.bytes ?? Data()))
      for field in answer.head.headerFields { response = response.adding(field.name.rawName, field.value) }
      return response
    }
    var configuration = CurlConfiguration()
    configuration.connection.proxy = .none
    // The suite uses codings that the engine does not know. It must not try to decode them.
    configuration.decompresses = false
    let engine = try CurlTransport(configuration)
    let failures = await Self.failures(tests) { origin in
      origins.withLock { $0[origin.test.id] = origin }
      return Redirected(base: engine, port: server.port)
    }
    let failed = Self.failed(tests, failures)
    #expect(
      Set(failed) == Set(Self.deviationsOverTheEngine.keys), "\(failed.map { "\($0): \(failures[$0] ?? "")" })")
    await engine.shutDown()
  }

  private static func failed(_ tests: [CacheTestCase], _ failures: [String: String]) -> [String] {
    let required = tests.filter { $0.kind == "required" }
    #expect(required.count == 137)
    let failed = required.map(\.id).filter { failures[$0] != nil }
    print(
      "cache-tests: \(required.count - failed.count) of \(required.count) required cases pass,",
      "\(tests.count - failures.count) of \(tests.count) in all")
    return failed
  }

  /// Runs the cases, and returns the failure of each case that does not pass, by the case's identifier.
  private static func failures(
    _ tests: [CacheTestCase], over base: (CacheTestOrigin) -> any Transport
  ) async -> [String: String] {
    var failures: [String: String] = [:]
    for test in tests {
      if let failure = await CacheTestRun.failure(of: test, over: base) {
        failures[test.id] = (failure.isSetup ? "not set up: " : "") + failure.text
      }
    }
    // A case fails if any case that it depends on fails.
    var isChanged = true
    while isChanged {
      isChanged = false
      for test in tests where failures[test.id] == nil {
        guard let broken = test.dependencies.first(where: { failures[$0] != nil }) else { continue }
        failures[test.id] = "depends on \(broken)"
        isChanged = true
      }
    }
    return failures
  }
}

/// A transport that sends every request to one port.
private struct Redirected: Transport {
  let base: CurlTransport
  let port: Int

  func execute(_ request: TransferRequest) async throws(TransportError) -> TransferResponse {
    var request = request
    request.head.authority = "127.0.0.1:\(port)"
    request.deadline = .seconds(60)
    return try await base.execute(request)
  }
}

/// A case of http-tests/cache-tests: requests in order, and the expected outcome of each.
struct CacheTestCase: Sendable {
  /// A request, and the origin's response to it.
  struct Step: Sendable {
    let values: [String: JSONValue]

    func flag(_ name: String) -> Bool { values[name] == .bool(true) }
    func text(_ name: String) -> String? { if case .string(let text)? = values[name] { text } else { nil } }
    func list(_ name: String) -> [JSONValue] { if case .array(let list)? = values[name] { list } else { [] } }
    func pairs(_ name: String) -> [[JSONValue]] {
      list(name).map { if case .array(let pair) = $0 { pair } else { [$0] } }
    }

    /// Whether a failed expectation only says that the case could not be set up.
    func isSetup(_ expectation: String) -> Bool {
      flag("setup") || list("setup_tests").contains(.string(expectation))
    }
  }

  let id: String
  let kind: String
  let dependencies: [String]
  let steps: [Step]

  private struct Suite: Decodable {
    struct Test: Decodable {
      var id: String
      var kind: String?
      var depends_on: [String]?
      var cdn_only: Bool?
      var browser_skip: Bool?
      var requests: [[String: JSONValue]]
    }

    var tests: [Test]
  }

  /// Returns the cases that apply to a private cache.
  static func all() throws -> [CacheTestCase] {
    let suites = try JSONDecoder().decode(
      [Suite].self, from: ConformanceData.file("cache-tests/cache-tests.json"))
    return suites.flatMap(\.tests).filter { $0.cdn_only != true && $0.browser_skip != true }.map { test in
      CacheTestCase(
        id: test.id, kind: test.kind ?? "required", dependencies: test.depends_on ?? [],
        steps: test.requests.map { Step(values: $0) })
    }
  }
}

extension JSONValue {
  var string: String? { if case .string(let text) = self { text } else { nil } }
  var int: Int64? { if case .integer(let number) = self { number } else { nil } }
}

/// An origin that responds to the requests of one case as the suite's own server does.
final class CacheTestOrigin: Transport {
  struct Seen: Sendable {
    var number: Int
    var method: String
    var fields: HTTPFields
    /// The fields of the response that the suite compares.
    var answered: [(name: String, value: String)]
  }

  let test: CacheTestCase
  let clock: ManualClock
  private let state = Lock<[Seen]>([])

  init(_ test: CacheTestCase, _ clock: ManualClock) {
    self.test = test
    self.clock = clock
  }

  var seen: [Seen] { state.withLock { $0 } }

  func execute(_ request: TransferRequest) async throws(TransportError) -> TransferResponse {
    guard let response = answer(request.head) else {
      throw TransportError(stage: .response, code: .connectionLost, message: "the origin closed", requestSent: true)
    }
    return response
  }

  /// Returns the response to a request, or `nil` if the origin closes the connection.
  func answer(_ request: HTTPRequest) -> TransferResponse? {
    let count = seen.count + 1
    let number = request.headerFields[.reqNum].flatMap { Int($0) } ?? count
    let step = test.steps[number - 1]
    if let pause = step.values["response_pause"]?.int { clock.advance(by: .seconds(pause)) }
    let now = ManualClock.epoch + clock.now
    let status = status(of: step, number, request.headerFields)
    var fields: HTTPFields = [
      .reqCount: "\(count)", .clientCount: "\(number)", .serverNow: "\(now.components.seconds)",
      .baseURL: request.path ?? "",
    ]
    var saved: [String: String] = [:]
    for line in step.pairs("response_headers") {
      let name = line[0].string ?? ""
      let value = Self.value(line, step, now: now, base: request.path ?? "")
      guard let field = HTTPField.Name(name) else { continue }
      fields.append(HTTPField(name: field, value: value))
      if line.count < 3 || line[2] == .bool(true) {
        saved[name] = fields[values: field].joined(separator: ", ")
      }
    }
    if fields[.contentType] == nil { fields[.contentType] = "text/plain" }
    let numbers = state.withLock { state in
      state.append(
        Seen(
          number: number, method: request.method.rawValue, fields: request.headerFields,
          answered: saved.map { ($0.key, $0.value) }))
      return state.map { "\($0.number)" }
    }
    fields[.requestNumbers] = numbers.joined(separator: " ")
    if step.flag("disconnect") { return nil }
    let isEmpty = [204, 304].contains(status) || request.method == .head
    let body = isEmpty ? "" : step.text("response_body") ?? test.id
    return TransferResponse(
      head: HTTPResponse(status: .init(code: status), headerFields: fields), body: ResponseBody(Data(body.utf8)))
  }

  private func status(of step: CacheTestCase.Step, _ number: Int, _ fields: HTTPFields) -> Int {
    guard step.text("expected_type")?.hasSuffix("validated") == true else {
      return step.list("response_status").first?.int.map(Int.init) ?? 200
    }
    let previous = test.steps[max(0, number - 2)].pairs("response_headers")
    func header(_ name: String) -> String? {
      previous.first { $0[0].string?.lowercased() == name }.map {
        Self.value($0, step, now: ManualClock.epoch + clock.now, base: "")
      }
    }
    if let modified = header("last-modified"), fields[.ifModifiedSince] == modified { return 304 }
    if let tag = header("etag"), fields[.ifNoneMatch] == tag { return 304 }
    return 999
  }

  private static func value(_ line: [JSONValue], _ step: CacheTestCase.Step, now: Duration, base: String) -> String {
    let name = line[0].string?.lowercased() ?? ""
    if let seconds = line[1].int, ["date", "expires", "last-modified"].contains(name) {
      let date = now.components.seconds + seconds
      return step.list("rfc850date").contains(.string(name)) ? rfc850(date) : HTTPDate.text(date)
    }
    let text = line[1].string ?? line[1].int.map { "\($0)" } ?? ""
    guard step.flag("magic_locations"), name == "location" || name == "content-location" else { return text }
    return text.isEmpty ? base : "\(base)/\(text)"
  }

  private static func rfc850(_ seconds: Int64) -> String {
    let words = HTTPDate.text(seconds).split(separator: " ")
    let days = [
      "Sun": "Sunday", "Mon": "Monday", "Tue": "Tuesday", "Wed": "Wednesday", "Thu": "Thursday",
      "Fri": "Friday", "Sat": "Saturday",
    ]
    return "\(days[String(words[0].prefix(3))] ?? ""), \(words[1])-\(words[2])-\(words[3].suffix(2)) \(words[4]) GMT"
  }
}

extension HTTPField.Name {
  static let testID = Self.of("Test-ID")
  static let reqNum = Self.of("Req-Num")
  static let reqCount = Self.of("Server-Request-Count")
  static let clientCount = Self.of("Client-Request-Count")
  static let serverNow = Self.of("Server-Now")
  static let baseURL = Self.of("Server-Base-Url")
  static let requestNumbers = Self.of("Request-Numbers")
}

/// A run of one case, on a clock of its own, with an empty cache.
struct CacheTestRun {
  /// The reason why a case did not pass. `isSetup` is set if the case could not be set up, which the suite does not
  /// count as a failure.
  struct Failure: Error {
    var isSetup: Bool
    var text: String
  }

  /// Runs a case, and returns its failure, or `nil` if it passes.
  ///
  /// - Parameter base: the transport that carries the requests to the origin. Default: the origin itself.
  static func failure(
    of test: CacheTestCase, over base: (CacheTestOrigin) -> any Transport = { $0 }
  ) async -> Failure? {
    do {
      try await CacheTestRun(test, over: base).run()
      return nil
    } catch let failure as Failure {
      return failure
    } catch {
      return Failure(isSetup: false, text: "\(error)")
    }
  }

  private let test: CacheTestCase
  private let clock = ManualClock()
  private let origin: CacheTestOrigin
  private let transport: CachingTransport
  private let cache: HTTPCache

  private init(_ test: CacheTestCase, over base: (CacheTestOrigin) -> any Transport) {
    self.test = test
    origin = CacheTestOrigin(test, clock)
    cache = HTTPCache(policy: HTTPCachePolicy(staleWhenUnreachable: .seconds(3_600)))
    transport = CachingTransport(over: base(origin), cache, time: clock.timeSource)
  }

  private func run() async throws {
    var answers: [TransferResponse?] = []
    for (index, step) in test.steps.enumerated() {
      let answer = try await send(step, index + 1, after: answers.last ?? nil)
      answers.append(answer)
      try check(answer, step, index + 1)
      // Background revalidations take less than three seconds: let them finish before the clock advances.
      await cache.finishRevalidations()
      if step.values["pause_after"] != nil { clock.advance(by: .seconds(3)) }
    }
    try checkRequests(answers)
  }

  private func send(
    _ step: CacheTestCase.Step, _ number: Int, after previous: TransferResponse?
  ) async throws -> TransferResponse? {
    var url = "http://origin.test/test/\(test.id)"
    if let name = step.text("filename") { url += "/\(name)" }
    if let query = step.text("query_arg") { url += "?\(query)" }
    var request = try ResourceRequest(method: step.text("request_method") ?? "GET", url: url)
    for line in step.pairs("request_headers") {
      var value = line[1].string ?? ""
      if let seconds = line[1].int, let now = previous?.head.headerFields[.serverNow].flatMap({ Int64($0) }) {
        value = HTTPDate.text(now + seconds)
      }
      try request.addHeader(line[0].string ?? "", value)
    }
    try request.addHeader("Test-ID", test.id)
    try request.addHeader("Req-Num", "\(number)")
    request.options.cache = step.text("cache") == "no-cache" ? .revalidate : nil
    do throws(TransportError) {
      return try await transport.execute(TransferRequest(testing: request))
    } catch {
      // An expected status of null means that the client gets no response.
      guard step.values["expected_status"] == .null else { throw Failure(isSetup: false, text: "\(error)") }
      return nil
    }
  }

  private func expect(_ step: CacheTestCase.Step, _ name: String?, _ isMet: Bool, _ text: String) throws {
    if !isMet { throw Failure(isSetup: name.map { step.isSetup($0) } ?? true, text: text) }
  }

  private func check(_ answer: TransferResponse?, _ step: CacheTestCase.Step, _ number: Int) throws {
    guard let answer else { return }
    let fields = answer.head.headerFields
    let status = answer.head.status.code
    let served = fields[.reqCount].flatMap { Int($0) }
    switch step.text("expected_type") {
    case "cached":
      let isCached = served.map { $0 < number } ?? (status == 304)
      try expect(step, "expected_type", isCached, "response \(number) does not come from the cache")
    case "not_cached":
      try expect(step, "expected_type", served == number, "response \(number) comes from the cache")
    default: break
    }
    if let expected = step.values["expected_status"] {
      try expect(step, "expected_status", expected == .null || expected.int == Int64(status), "status \(status)")
    } else if let expected = step.list("response_status").first?.int {
      try expect(step, nil, expected == Int64(status), "status \(status), not \(expected)")
    } else if status == 999 {
      try expect(step, "expected_type", false, "request \(number) was not conditional")
    } else {
      try expect(step, nil, status == 200, "status \(status), not 200")
    }
    try checkFields(fields, step, number)
    try checkBody(String(decoding: answer.body.bytes ?? Data(), as: UTF8.self), status, step)
  }

  private func checkFields(_ fields: HTTPFields, _ step: CacheTestCase.Step, _ number: Int) throws {
    func values(_ name: String) -> String? {
      guard let name = HTTPField.Name(name), fields.contains(name) else { return nil }
      return fields[values: name].joined(separator: ", ")
    }
    for line in step.pairs("expected_response_headers") {
      let name = line[0].string ?? ""
      let value = values(name)
      let isMet: Bool
      if line.count == 1 {
        isMet = value != nil
      } else if line.count == 3 {
        isMet =
          line[1] == .string("=")
          ? value == values(line[2].string ?? "") : (value.flatMap { Int64($0) } ?? 0) > (line[2].int ?? 0)
      } else {
        isMet = value == line[1].string ?? line[1].int.map { expected(name, $0, fields) }
      }
      try expect(step, "expected_response_headers", isMet, "answer \(number): \(name) is \(value ?? "missing")")
    }
    for line in step.pairs("expected_response_headers_missing") where line.count == 1 {
      let name = line[0].string ?? ""
      try expect(step, "expected_response_headers_missing", values(name) == nil, "answer \(number) has \(name)")
    }
  }

  /// Returns the expected text of a number: in a date field, the number counts from the time of the origin's response.
  private func expected(_ name: String, _ number: Int64, _ fields: HTTPFields) -> String {
    guard ["date", "expires", "last-modified"].contains(name.lowercased()) else { return "\(number)" }
    return HTTPDate.text(number + (fields[.serverNow].flatMap { Int64($0) } ?? 0))
  }

  private func checkBody(_ body: String, _ status: Int, _ step: CacheTestCase.Step) throws {
    if step.values["check_body"] == .bool(false) { return }
    if let expected = step.values["expected_response_text"] {
      if let text = expected.string { try expect(step, "expected_response_text", body == text, "body \(body)") }
    } else if let text = step.text("response_body") {
      try expect(step, nil, body == text, "body \(body), not \(text)")
    } else if ![204, 304].contains(status), step.text("request_method") != "HEAD" {
      try expect(step, nil, body == test.id, "body \(body)")
    }
  }

  /// Compares the requests that the origin received with those that the case expects.
  private func checkRequests(_ answers: [TransferResponse?]) throws {
    var index = 0
    for (number, step) in test.steps.enumerated() {
      let type = step.text("expected_type")
      if type == "cached" { continue }
      let seen = origin.seen.indices.contains(index) ? origin.seen[index] : nil
      index += 1
      if type == "not_cached" {
        try expect(step, "expected_type", seen?.number == number + 1, "response \(number + 1) comes from the cache")
      }
      if type == "etag_validated" {
        try expect(step, "expected_type", seen?.fields[.ifNoneMatch] != nil, "no If-None-Match")
      }
      if type == "lm_validated" {
        try expect(step, "expected_type", seen?.fields[.ifModifiedSince] != nil, "no If-Modified-Since")
      }
      for line in step.pairs("expected_request_headers") {
        let value = HTTPField.Name(line[0].string ?? "").flatMap { seen?.fields[$0] }
        let isMet = line.count == 1 ? value != nil : value == line[1].string
        try expect(
          step, "expected_request_headers", isMet, "request \(number + 1): \(line[0]) is \(value ?? "missing")")
      }
      if let method = step.text("expected_method") {
        try expect(step, "expected_method", seen?.method == method, "method \(seen?.method ?? "none")")
      }
      for (name, value) in seen?.answered ?? [] where name.lowercased() != "date" {
        let received = HTTPField.Name(name).flatMap { answers[number]?.head.headerFields[values: $0] } ?? []
        let isMet = answers[number] == nil || received.joined(separator: ", ") == value
        try expect(step, nil, isMet, "answer \(number + 1): \(name) is \(received), not \(value)")
      }
    }
  }
}

extension TransferRequest {
  /// Creates the transfer request that a stack would make of a request.
  init(testing request: ResourceRequest) {
    self.init(head: request.head, body: request.body, connection: request.options.connection)
    layerUses = request.options.layerUses
    secrets = request.options.secrets
  }
}
