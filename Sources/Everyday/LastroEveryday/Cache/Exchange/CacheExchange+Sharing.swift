// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro
import LastroWire

extension CacheExchange {
  /// A body of a known length up to this is read completely before its response is returned, if other requests wait for
  /// it.
  private static let maximumCollectedBytes = 1024 * 1024

  /// Asks the server, or waits for the response to an equal request.
  ///
  /// - Parameter landings: the number of flights that had ended before the store was read.
  func asking(_ situation: Situation, _ landings: UInt64) async throws(TransportError) -> TransferResponse {
    guard mayShare else { return try await obtain(situation).response }
    let key = FlightTable.Key(
      key: keys.own, mode: mode, leavesCoding: asked.leavesCoding, connection: request.connection)
    switch cache.flights.join(key, now: time.now()) {
    case .alone: return try await obtain(situation).response
    case .follower(let flight): return try await follow(flight, situation)
    case .leader(let flight): return try await flight.lead { await fly(flight, key, situation, landings) }
    }
  }

  /// Whether the request may share a transfer. Only requests without caching fields may: a response that satisfies
  /// another request may be too old for one with such fields.
  private var mayShare: Bool {
    cache.policy.collapsesEqualRequests && asked.method == "GET" && !asked.isConditional && asked.control.isEmpty
      && !asked.fields.contains("range") && mode != .reload
  }

  private func fly(
    _ flight: Flight, _ key: FlightTable.Key, _ situation: Situation, _ landings: UInt64
  ) async -> Result<TransferResponse, TransportError> {
    do throws(TransportError) {
      let asked = try await answer(situation, landings)
      let response = asked.isShareable ? try await collected(asked.response, for: flight) : asked.response
      let isShared = asked.isShareable && response.body.bytes != nil
      cache.flights.end(key, flight, isShareable: isShared, now: time.now())
      flight.land(isShared ? .shared(shared(response)) : .unshared)
      return .success(try limited(response))
    } catch {
      cache.flights.end(key, flight, isShareable: true, now: time.now())
      flight.land(.unshared)
      return .failure(error)
    }
  }

  /// Looks at the store again if a flight ended since it was read, because that flight may have stored the response.
  private func answer(_ situation: Situation, _ landings: UInt64) async throws(TransportError) -> Asked {
    guard cache.flights.landings != landings else { return try await obtain(situation, claims: true) }
    let (answer, situation) = try await locally()
    if let answer { return Asked(response: answer, isShareable: true) }
    return try await obtain(situation, claims: true)
  }

  private func shared(_ response: TransferResponse) -> SharedAnswer {
    SharedAnswer(
      response: response,
      selection: VaryRule(CacheFields(response.head.headerFields)).selection(from: asked.fields))
  }

  /// Collects the body in memory if other requests wait for it and its length is known to be small.
  private func collected(
    _ response: TransferResponse, for flight: Flight
  ) async throws(TransportError) -> TransferResponse {
    let fields = CacheFields(response.head.headerFields)
    guard flight.hasFollowers, response.body.bytes == nil, !fields.contains("content-encoding"),
      let length = fields.first("content-length").flatMap(CacheControl.seconds), length <= Self.maximumCollectedBytes
    else { return response }
    var response = response
    response.body = ResponseBody(try await response.body.collect(upTo: Self.maximumCollectedBytes))
    return response
  }

  private func follow(_ flight: Flight, _ situation: Situation) async throws(TransportError) -> TransferResponse {
    let landing = await flight.landing(within: request.deadline.map { $0 - (time.now() - start) }, time)
    flight.leave()
    switch landing {
    case .success(.shared(let answer)):
      let vary = VaryRule(CacheFields(answer.response.head.headerFields))
      guard vary.selection(from: asked.fields) == answer.selection else { return try await obtain(situation).response }
      return try limited(collapsed(answer.response))
    case .success(.unshared), .success(.failed): return try await obtain(situation).response
    case .failure(.cancelled): throw .cancelled()
    case .failure(.limit): throw request.deadlinePassed()
    }
  }

  /// Returns a response to another request as this one's. Its facts are dropped: they describe the other request's
  /// transfer.
  private func collapsed(_ response: TransferResponse) -> TransferResponse {
    var report = response.facts.cacheReport ?? CacheReport(.hit)
    report.isCollapsed = true
    var response = response
    response.facts = TransferFacts()
    return noted(response, report)
  }

  /// Validates a stored response in the background, after it has been served.
  func revalidate(_ index: Int, _ situation: Situation) {
    var background = request
    background.delivery = .collected(maximumBytes: max(0, cache.policy.maximumEntryBytes))
    background.progress = nil
    background.onInterimResponse = nil
    let timeouts = Timeouts.standard
    background.connectTimeout = timeouts.connect
    background.idleTimeout = timeouts.idle
    background.deadline = timeouts.total
    background.deadlineCode = .totalTimeout
    var situation = situation
    situation.decision = CacheDecision.validation(of: index, situation.entries)
    let (request, base, asking) = (background, self, situation)
    cache.revalidations.begin(keys.own, now: time.now) {
      let exchange = CacheExchange(
        request: request, asked: base.asked, mode: base.mode, keys: base.keys, start: base.time.now(),
        transport: base.transport,
        visit: StoreVisit(base.cache.access, time: base.time, start: base.time.now(), deadline: request.deadline))
      guard let asked = try? await exchange.obtain(asking, claims: true, validates: true) else { return false }
      return asked.response.facts.cache != .staleServed
    }
  }
}
