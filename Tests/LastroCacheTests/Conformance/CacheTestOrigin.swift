// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import LastroSupport
import LastroTesting
import LastroWire

/// Answers the requests of one case as the suite's own server does.
final class CacheTestOrigin: Transport {
  struct Seen: Sendable {
    var number: Int
    var method: String
    var fields: HTTPFields
    /// What its answer had, where the suite compares that.
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
    let count = seen.count + 1
    let number = request.head.headerFields[.reqNum].flatMap { Int($0) } ?? count
    let step = test.steps[number - 1]
    if let pause = step.values["response_pause"]?.int { clock.advance(by: .seconds(pause)) }
    let now = ManualClock.epoch + clock.now
    let status = status(of: step, number, request.head.headerFields)
    var fields: HTTPFields = [
      .reqCount: "\(count)", .clientCount: "\(number)", .serverNow: "\(now.components.seconds)",
      .baseURL: request.head.path ?? "",
    ]
    var saved: [String: String] = [:]
    for line in step.pairs("response_headers") {
      let name = line[0].string ?? ""
      let value = Self.value(line, step, now: now, base: request.head.path ?? "")
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
          number: number, method: request.head.method.rawValue, fields: request.head.headerFields,
          answered: saved.map { ($0.key, $0.value) }))
      return state.map { "\($0.number)" }
    }
    fields[.requestNumbers] = numbers.joined(separator: " ")
    if step.flag("disconnect") {
      throw TransportError(
        stage: .response, code: .connectionLost, message: "the origin closed", requestSent: true)
    }
    let isEmpty = [204, 304].contains(status) || request.head.method == .head
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
  static let reqNum = Self("Req-Num")!
  static let reqCount = Self("Server-Request-Count")!
  static let clientCount = Self("Client-Request-Count")!
  static let serverNow = Self("Server-Now")!
  static let baseURL = Self("Server-Base-Url")!
  static let requestNumbers = Self("Request-Numbers")!
}
