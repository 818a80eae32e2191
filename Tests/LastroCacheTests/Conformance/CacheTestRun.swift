// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import LastroCache
import LastroSupport
import LastroTesting
import LastroWire
import TestSupport

/// Runs one case, on a clock of its own, with an empty cache.
struct CacheTestRun {
  /// Why it did not pass. `isSetup` where it could not be set up, which the suite tells from a failure.
  struct Failure: Error {
    var isSetup: Bool
    var text: String
  }

  /// `nil` where it passes.
  static func failure(of test: CacheTestCase) async -> Failure? {
    do {
      try await CacheTestRun(test).run()
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

  private init(_ test: CacheTestCase) {
    self.test = test
    origin = CacheTestOrigin(test, clock)
    cache = HTTPCache(policy: HTTPCachePolicy(staleWhenUnreachable: .seconds(3_600)))
    transport = CachingTransport(over: origin, cache, time: clock.timeSource)
  }

  private func run() async throws {
    var answers: [TransferResponse?] = []
    for (index, step) in test.steps.enumerated() {
      let answer = try await send(step, index + 1, after: answers.last ?? nil)
      answers.append(answer)
      try check(answer, step, index + 1)
      // What is validated behind an answer does not take three seconds.
      await cache.finishRevalidations()
      if step.values["pause_after"] != nil { clock.advance(by: .seconds(3)) }
    }
    try checkRequests(answers)
  }

  private func send(
    _ step: CacheTestCase.Step, _ number: Int, after previous: TransferResponse?
  ) async throws -> TransferResponse? {
    var url = "https://origin.test/test/\(test.id)"
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
      // A client that gets no answer has none to look at.
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
      try expect(step, "expected_type", isCached, "answer \(number) does not come from the cache")
    case "not_cached":
      try expect(step, "expected_type", served == number, "answer \(number) comes from the cache")
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
        isMet = value == line[1].string ?? line[1].int.map { "\($0)" }
      }
      try expect(step, "expected_response_headers", isMet, "answer \(number): \(name) is \(value ?? "missing")")
    }
    for line in step.pairs("expected_response_headers_missing") where line.count == 1 {
      let name = line[0].string ?? ""
      try expect(step, "expected_response_headers_missing", values(name) == nil, "answer \(number) has \(name)")
    }
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

  /// What the origin saw, against what it was to see.
  private func checkRequests(_ answers: [TransferResponse?]) throws {
    var index = 0
    for (number, step) in test.steps.enumerated() {
      let type = step.text("expected_type")
      if type == "cached" { continue }
      let seen = origin.seen.indices.contains(index) ? origin.seen[index] : nil
      index += 1
      if type == "not_cached" {
        try expect(step, "expected_type", seen?.number == number + 1, "answer \(number + 1) comes from the cache")
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
  /// As a stack would hand it over.
  init(testing request: ResourceRequest) {
    self.init(head: request.head, body: request.body, connection: request.options.connection)
    layerUses = request.options.layerUses
    secrets = request.options.secrets
  }
}
