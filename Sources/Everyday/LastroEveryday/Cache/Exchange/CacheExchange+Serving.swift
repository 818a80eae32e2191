// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro
import LastroWire

extension CacheExchange {
  /// Builds the response from a stored one. Returns `nil` if the stored body is gone.
  ///
  /// - Throws: stage `limit` if the body is longer than the request allows.
  func served(
    _ stored: StoredHead, _ serving: CacheServing, _ report: CacheReport, facts: TransferFacts = TransferFacts()
  ) async throws(TransportError) -> TransferResponse? {
    var body = ResponseBody(Data())
    if asked.method != "HEAD", serving != .unsatisfiable {
      guard let found = try await self.body(of: stored, serving, report) else { return nil }
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

  /// Returns the stored body, or the requested part of it. Returns `nil` if the store does not have all of it.
  private func body(
    of stored: StoredHead, _ serving: CacheServing, _ report: CacheReport
  ) async throws(TransportError) -> ResponseBody? {
    let isStreamed = if case .collected = request.delivery { false } else { serving == .whole }
    let (url, access) = (keys.own.url, cache.access)
    let body = await visit.ask { store -> ResponseBody? in
      guard let body = await store.body(of: stored.id), !access.isCondemned(url) else { return nil }
      if isStreamed || body.bytes != nil && serving == .whole { return body }
      // Collect here, where waiting for the store is limited.
      guard let all = try? await body.collect(upTo: Int(clamping: stored.length)) else { return nil }
      guard case .part(let range) = serving else { return ResponseBody(all) }
      guard Int64(all.count) >= range.upperBound else { return nil }
      return ResponseBody(Data(all.dropFirst(Int(range.lowerBound)).prefix(range.count)))
    }
    if body == nil { try checkCancelled(requestSent: report.forwardReason != nil) }
    guard let body = body ?? nil else { return nil }
    return body.bytes == nil ? ResponseBody(source: StoredBody(body, of: request, visit)) : body
  }

  /// Applies the request's body limit to a response in memory, as any transport does.
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
        stage: .limit, code: .bodyTooLarge, message: "the body from the cache exceeds \(limit.counted("byte"))",
        hint: "raise maximumBodyBytes, or stream the body", facts: response.facts, head: response.head)
    }
    request.progress?.report(received: Int64(count), of: Int64(count))
    return response
  }

  func noted(_ response: TransferResponse, _ report: CacheReport) -> TransferResponse {
    transport.noted(response, report)
  }
}
