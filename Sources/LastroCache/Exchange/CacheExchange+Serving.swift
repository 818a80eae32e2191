// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro
import LastroWire

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension CacheExchange {
  /// The answer made of what is stored; `nil` where its body is gone.
  ///
  /// - Throws: stage `limit`, where it is longer than the request allows.
  func served(
    _ stored: StoredHead, _ serving: CacheServing, _ report: CacheReport, facts: TransferFacts = TransferFacts()
  ) async throws(TransportError) -> TransferResponse? {
    var body = ResponseBody(Data())
    if asked.method != "HEAD", serving != .unsatisfiable {
      guard let found = await store.body(of: stored.id) else { return nil }
      body = found
    }
    let freshness = CacheFreshness(of: stored.entry, now: time.sinceEpoch(), rules: rules)
    var report = report
    report.age = Int(freshness.age.components.seconds)
    report.ttl = Int(freshness.left.components.seconds)
    if report.outcome == .hit, !freshness.isFresh { report.outcome = .staleServed }
    var fields = CacheFields(stored.head.headerFields)
    fields.set("Age", "\(freshness.age.components.seconds)")
    var status = stored.head.status
    switch serving {
    case .whole: break
    case .part(let range):
      guard let bytes = await Self.bytes(of: body, range) else { return nil }
      body = ResponseBody(bytes)
      fields = fields.ofPart(range, of: stored.length)
      status = .partialContent
    case .unsatisfiable:
      fields = CacheFields(fields.lines.filter { ["date", "age"].contains($0.name.lowercased()) })
      fields.set("Content-Range", "bytes */\(stored.length)")
      status = .rangeNotSatisfiable
    }
    let response = TransferResponse(
      head: HTTPResponse(status: status, headerFields: fields.httpFields), body: body, facts: facts)
    return try limited(noted(response, report))
  }

  private static func bytes(of body: ResponseBody, _ range: Range<Int64>) async -> Data? {
    guard let all = try? await body.collect(upTo: .max), Int64(all.count) >= range.upperBound else { return nil }
    let start = all.startIndex + Int(range.lowerBound)
    return Data(all[start..<start + range.count])
  }

  /// Holds an answer in memory to the request's limit, as any transport does.
  func limited(_ response: TransferResponse) throws(TransportError) -> TransferResponse {
    guard let count = response.body.bytes?.count else { return response }
    let limit: Int? =
      switch request.delivery {
      case .collected(let maximum): maximum
      case .streamed(let maximum): maximum
      case .streamedOnSuccess(let maximum, let errors): response.head.status.kind == .successful ? maximum : errors
      }
    if let limit, count > limit {
      throw TransportError(
        stage: .limit, code: .bodyTooLarge, message: "the body from the cache exceeds \(limit) bytes",
        hint: "raise maximumBodyBytes, or stream the body", facts: response.facts, head: response.head)
    }
    request.progress?.report(received: Int64(count), of: Int64(count))
    return response
  }

  /// With what the cache did, for the ledger, and for the caller where the policy says so.
  func noted(_ response: TransferResponse, _ report: CacheReport) -> TransferResponse {
    var response = response
    response.facts.notes.append(report.note)
    if cache.policy.addsCacheStatus {
      response.head.headerFields.append(HTTPField(name: .cacheStatus, value: report.member))
    }
    return response
  }
}

extension HTTPField.Name {
  // Forced: letters and a hyphen are a field name (RFC 9110 §5.6.2), and no other name could stand in.
  // swift-format-ignore: NeverForceUnwrap
  fileprivate static let cacheStatus = HTTPField.Name("Cache-Status")!
}
