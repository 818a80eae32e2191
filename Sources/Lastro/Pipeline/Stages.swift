// SPDX-License-Identifier: Apache-2.0

// The plot. What each stage does stands in `AttemptRun+….swift`, in the order in which they are named here, and in
// `FetchCall+Recovery.swift`. Only what may wait is `async`, and is called only where there is something to wait for: a
// fetch without hooks that wait suspends once, for the transport.

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension FetchCall {
  /// Makes the value of a success of the answer's body.
  typealias Decode = (ResponseBody, ResourceResponse) throws -> Void
  /// Makes the API's own error of another answer's body.
  typealias DecodeError = (Data?, ResourceResponse) throws -> (any Error)?

  /// A call: attempts until one succeeds, no interceptor wants another, or a rule ends it.
  func run(_ decode: Decode, _ decodeError: DecodeError) async throws(HTTPFetchError<any Error>) -> ResourceResponse {
    emit(.callStarted, of: nil)
    var attempt = AttemptRun(of: self)
    while true {
      let response: ResourceResponse
      do throws(AttemptFailure) {
        response = try await attempt.run(decode, decodeError)
      } catch {
        guard let answer = try await recover(from: error, of: &attempt) else { continue }
        // It takes any: what it throws would leave the call without a value.
        try? decode(answer.body, answer.response)
        return answer.response
      }
      return try end(with: response, of: attempt)
    }
  }
}

extension AttemptRun {
  /// An attempt: make the request, send it and follow redirects, judge the answer, decode it, tell.
  func run(
    _ decode: FetchCall.Decode, _ decodeError: FetchCall.DecodeError
  ) async throws(AttemptFailure) -> ResourceResponse {
    try begin()
    var base =
      if let make = plan.baseRequestMaking.makeAtOnce { makeBase(by: make) } else { try await makeBaseInTime() }
    var exchange: Exchange
    while true {
      var request = plan.hooks.contains(.makeRequest) ? try await adapt(base) : try made(base)
      try complete(&request)
      if !plan.configuration.signers.isEmpty { request = try await sign(request) }
      if plan.hooks.contains(.scheduled) { try await tellScheduled(request) }
      let transfer = try handOver(request)
      do throws(TransportError) {
        var answer = try await send(transfer)
        if leavesBody(answer, to: request) { try await collect(&answer, to: request) }
        exchange = receive(answer, to: request)
      } catch {
        throw failure(of: error, request)
      }
      guard let next = try redirect(exchange) else { break }
      base = .success(next)
    }
    let isWithoutBody = exchange.request.options.withheldBody != nil
    guard isSuccess(exchange), !isWithoutBody else {
      let isValue = plan.acceptance == .all && !(isWithoutBody && isSuccess(exchange))
      throw isValue ? unsettled(exchange) : await badStatus(exchange, decodeError)
    }
    try finish(&exchange, decode, decodeError)
    if plan.hooks.contains(.succeeded) { await tellSucceeded(exchange) }
    return exchange.response
  }

  /// The sending half, which knows nothing of interceptors: what decides whether, where and how often a final request
  /// goes out belongs here.
  private func send(_ transfer: TransferRequest) async throws(TransportError) -> TransferResponse {
    try await call.plan.core.transport(for: transfer).execute(transfer)
  }
}
