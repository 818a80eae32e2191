// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro
import LastroSupport

/// The fault rules of a configuration, with the number of requests that each one has counted.
final class FaultLayer: TransportLayer {
  let rules: [FaultRule]
  private let counts: Lock<[Int]>
  private let random: [RandomSource]

  init(_ rules: [FaultRule]) {
    self.rules = rules
    counts = Lock(Array(repeating: 0, count: rules.count))
    random = rules.map { .seeded($0.seed) }
  }

  func transport(over base: any Transport, for configuration: StackConfiguration) -> any Transport {
    FaultTransport(base: base, layer: self, time: configuration.timeSource)
  }

  /// Counts a request, and returns the rules whose turn it is.
  func due(for head: HTTPRequest) -> [FaultRule] {
    let matching = rules.indices.filter { rules[$0].matches(head) }
    guard !matching.isEmpty else { return [] }
    return counts.withLock { counts in
      matching.filter { index in
        counts[index] += 1
        return counts[index].isMultiple(of: rules[index].every) && random[index].unit() < rules[index].share
      }.map { rules[$0] }
    }
  }
}

/// A transport that injects faults into the requests that it sends through another one.
private struct FaultTransport: Transport {
  let base: any Transport
  let layer: FaultLayer
  let time: TimeSource

  func execute(_ request: TransferRequest) async throws(TransportError) -> TransferResponse {
    let rules = layer.due(for: request.head)
    if rules.isEmpty { return try await base.execute(request) }
    var telling = ResilienceTelling()
    do throws(TransportError) {
      let response = try await inject(rules, into: request, &telling)
      return telling.noted(response)
    } catch {
      throw telling.noted(error)
    }
  }

  private func inject(
    _ rules: [FaultRule], into request: TransferRequest, _ telling: inout ResilienceTelling
  ) async throws(TransportError) -> TransferResponse {
    var (request, cuts) = (request, [(rule: FaultRule, bytes: Int)]())
    for rule in rules {
      switch rule.fault {
      case .delay(let wait):
        telling.add(rule, "a delay of \(wait.brief)", wait: wait)
        try await delay(&request, by: wait, rule)
      case .respond(let status, let headers, let body):
        telling.add(rule, "the response")
        let bytes = Data(request.head.method == .head ? "".utf8 : body.utf8)
        return TransferResponse(
          head: HTTPResponse(status: status, headerFields: headers), body: ResponseBody(bytes))
      case .fail(let code):
        telling.add(rule, "the failure")
        throw .injected(code, by: rule)
      case .cutBody(let count):
        telling.add(rule, "an end of the body after \(count) byte\(count == 1 ? "" : "s")")
        cuts.append((rule, count))
      }
    }
    var response = try await base.execute(request)
    if let cut = cuts.min(by: { $0.bytes < $1.bytes }) {
      response.body = response.body.cut(after: cut.bytes, by: cut.rule)
    }
    return response
  }

  private func delay(
    _ request: inout TransferRequest, by wait: Duration, _ rule: FaultRule
  ) async throws(TransportError) {
    let wait = wait.countable
    do { try await time.sleep(min(wait, request.deadline ?? wait)) } catch { throw .cancelled(requestSent: false) }
    guard let deadline = request.deadline else { return }
    guard wait < deadline else {
      throw .deadlinePassed(
        request.deadlineCode, of: request.wholeTimeout ?? deadline, "in a delay that the rule \(rule.name) injected",
        requestSent: false)
    }
    request.deadline = deadline - wait
  }

  func explain(_ request: TransferRequest) -> [(name: String, value: String)] {
    let names = layer.rules.filter { $0.matches(request.head) }.map(\.name)
    return base.explain(request) + [
      (name: "injected faults", value: names.isEmpty ? "none for this request" : names.joined(separator: ", "))
    ]
  }
}

extension ResilienceTelling {
  fileprivate mutating func add(_ rule: FaultRule, _ fault: String, wait: Duration? = nil) {
    notes.append(
      TransferFacts.Note("fault", detail: rule.name, text: "rule \(rule.name) injected \(fault)", wait: wait))
  }
}

extension TransportError {
  fileprivate static func injected(_ code: FailureCode, by rule: FaultRule) -> Self {
    let (stage, isSent) = FaultRule.failures[code] ?? (.connect, false)
    return Self(
      stage: stage, code: code, message: "the rule \(rule.name) injected this failure",
      hint: "remove the rule from the stack's faults for a real request", requestSent: isSent)
  }
}

extension ResponseBody {
  /// Returns the body with an end of its connection after some bytes, unless it is shorter.
  fileprivate func cut(after count: Int, by rule: FaultRule) -> ResponseBody {
    if upgraded != nil || bytes.map({ $0.count <= count }) ?? false { return self }
    return ResponseBody(source: CutBody(self, after: count, by: rule))
  }
}

/// A body whose connection seems to be lost after some bytes.
private final class CutBody: ResponseBodySource {
  private let body: ResponseBody
  private let rule: FaultRule
  /// The number of bytes that are left; `nil` after the cut.
  private let left: Lock<Int?>

  init(_ body: ResponseBody, after count: Int, by rule: FaultRule) {
    (self.body, self.rule, left) = (body, rule, Lock(count))
  }

  var finalFacts: TransferFacts? { body.finalFacts }

  func cancel() { body.cancel() }

  func setPriority(_ priority: RequestPriority) { try? body.setPriority(priority) }

  func next() async throws(TransportError) -> Data? {
    let left = left.withLock { $0 }
    guard let left else { throw .injected(.connectionLost, by: rule) }
    // A stream continues with each iterator, and a body in memory is longer than what is left of it.
    var iterator = body.makeAsyncIterator()
    guard let chunk = try await iterator.next() else { return nil }
    let isCut = chunk.count > left
    self.left.withLock { $0 = isCut ? nil : left - chunk.count }
    guard isCut else { return chunk }
    body.cancel()
    if left == 0 { throw .injected(.connectionLost, by: rule) }
    return Data(chunk.prefix(left))
  }
}
