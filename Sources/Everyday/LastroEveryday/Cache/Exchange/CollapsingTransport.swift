// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro
import LastroWire

/// A transport that sends only one of several equal requests at a time.
struct CollapsingTransport: Transport {
  /// Fields that do not count when requests are compared (W3C Trace Context, Baggage).
  private static let traceFields: Set<String> = ["traceparent", "tracestate", "baggage"]
  /// The stages of failures that concern one request only: another may have a longer timeout, a larger limit or other
  /// rules.
  private static let ownStages: Set<FailureStage> = [.timeout, .limit, .cancelled, .policy]

  let base: any Transport
  let collapsing: RequestCollapsing
  let time: TimeSource

  private var flights: FlightTable { collapsing.flights }

  func execute(_ request: TransferRequest) async throws(TransportError) -> TransferResponse {
    guard let key = key(of: request) else { return try await alone(request) }
    let start = time.now()
    switch flights.join(key, now: start) {
    case .alone: return try await base.execute(request)
    case .leader(let flight): return try await flight.lead { await fly(flight, key, request) }
    case .follower(let flight): return try await follow(flight, request, start)
    }
  }

  func explain(_ request: TransferRequest) -> [(name: String, value: String)] {
    let words = key(of: request) == nil ? "alone" : "shared with equal requests"
    return base.explain(request) + [(name: "collapsing", value: words)]
  }

  /// Returns the key of a request; `nil` if the request shares no transfer.
  private func key(of request: TransferRequest) -> FlightTable.Key? {
    let use = CacheUse(request.layerUses[.cache])
    guard [.get, .head].contains(request.head.method), request.body.length == 0, request.onInterimResponse == nil,
      ![.noStore, .reload].contains(use.mode), case .collected(let maximum) = request.delivery, let url = request.url
    else { return nil }
    // Custom objects have no text to compare them by.
    guard request.connection?.tls.trustJudge == nil, request.connection?.reach.names == nil else { return nil }
    var lines = [
      request.head.method.rawValue, use.principal.map { "for \($0.utf8.count) \($0)" } ?? "",
      "\(maximum) \(request.maximumErrorBytes ?? -1) \(request.dropsRedirectBodies)",
    ]
    lines += request.head.headerFields
      .filter { !Self.traceFields.contains($0.name.canonicalName) }
      .map { "\($0.name.canonicalName):\($0.value)" }
    guard let target = try? collapsing.keyring.digest(ofURL: url),
      let rest = try? collapsing.keyring.digest(ofSelection: lines.joined(separator: "\n"))
    else { return nil }
    return FlightTable.Key(
      key: CacheKey(url: target, partition: rest), mode: .standard, leavesCoding: false, connection: request.connection)
  }

  /// Sends a request alone. If it changes a URL, ends that URL's flights: a later request must not get a response from
  /// before the change.
  private func alone(_ request: TransferRequest) async throws(TransportError) -> TransferResponse {
    let response = try await base.execute(request)
    if CacheInvalidation.isCaused(byMethod: request.head.method.rawValue, status: response.head.status.code) {
      for url in CachingTransport.changed(by: request, response) {
        flights.leave(try? collapsing.keyring.digest(ofURL: url))
      }
    }
    return response
  }

  private func fly(
    _ flight: Flight, _ key: FlightTable.Key, _ request: TransferRequest
  ) async -> Result<TransferResponse, TransportError> {
    do throws(TransportError) {
      let response = try await base.execute(request)
      let isShared = response.body.bytes != nil && response.head.headerFields[.setCookie] == nil
      flights.end(key, flight, isShareable: isShared, now: time.now())
      flight.land(isShared ? .shared(SharedAnswer(response: response, selection: "")) : .unshared)
      return .success(response)
    } catch {
      flights.end(key, flight, isShareable: true, now: time.now())
      flight.land(Self.isOwn(error) ? .unshared : .failed(error))
      return .failure(error)
    }
  }

  /// Whether a failure concerns one request only. A response that sets a cookie starts a session for one request only,
  /// too.
  private static func isOwn(_ error: TransportError) -> Bool {
    ownStages.contains(error.stage) || error.head?.headerFields[.setCookie] != nil
  }

  private func follow(
    _ flight: Flight, _ request: TransferRequest, _ start: Duration
  ) async throws(TransportError) -> TransferResponse {
    let landing = await flight.landing(within: request.deadline, time)
    flight.leave()
    switch landing {
    case .success(.shared(let answer)): return collapsed(answer.response, request)
    case .success(.failed(var error)):
      error.facts = nil
      throw error
    case .success(.unshared): return try await base.execute(request.remaining(after: time.now() - start))
    case .failure(.cancelled): throw .cancelled()
    case .failure(.limit): throw request.deadlinePassed("while waiting for an equal request")
    }
  }

  /// Returns a response to another request as this one's. Its facts are dropped: they describe the other request's
  /// transfer.
  private func collapsed(_ response: TransferResponse, _ request: TransferRequest) -> TransferResponse {
    var report = CacheReport(.bypassed)
    report.forwardReason = .bypass
    report.forwardStatus = response.head.status.code
    report.isCollapsed = true
    var response = response
    let cut = response.facts.bodyCut
    response.facts = TransferFacts(notes: [report.note])
    response.facts.bodyCut = cut
    let count = Int64(response.body.bytes?.count ?? 0)
    request.progress?.report(received: count, of: count)
    return response
  }
}
