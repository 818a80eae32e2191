// SPDX-License-Identifier: Apache-2.0

// The sequence of stages. The stages are implemented in `AttemptRun+….swift`, in the order in which they are called
// here, and in `FetchCall.swift`. Only functions that may wait are `async`, and they are called only if there
// is a reason to wait: a fetch without hooks that wait suspends once, for the transport.

import FoundationEssentials

extension FetchCall {
  /// A closure that makes the value of the call from the body of a successful response.
  typealias Decode = (ResponseBody, ResourceResponse) throws -> Void
  /// A closure that makes the API's own error from the body of another response.
  typealias DecodeError = (Data?, ResourceResponse) throws -> (any Error)?

  /// Runs the call: makes attempts until one succeeds, no interceptor asks for another, or a rule ends the call.
  func run(_ decode: Decode, _ decodeError: DecodeError) async throws(HTTPFetchError<any Error>) -> ResourceResponse {
    if !plan.configuration.observers.isEmpty {
      if let tape = plan.configuration.recorder?.tape(for: self) { return try await run(on: tape, decode, decodeError) }
      emit(.callStarted, of: nil)
    }
    var attempt = AttemptRun(of: self)
    while true {
      let response: ResourceResponse
      do throws(AttemptFailure) {
        response = try await attempt.run(decode, decodeError)
      } catch {
        guard let answer = try await recover(from: error, of: &attempt) else { continue }
        // `decode` accepts every status here and does not throw.
        try? decode(answer.body, answer.response)
        return answer.response
      }
      return try succeed(with: response, of: attempt)
    }
  }

  /// Runs the call with a tape that records it.
  private func run(
    on tape: CallTape, _ decode: Decode, _ decodeError: DecodeError
  ) async throws(HTTPFetchError<any Error>) -> ResourceResponse {
    let result: Result<ResourceResponse, HTTPFetchError<any Error>> = await CallTape.$current.withValue(tape) {
      do throws(HTTPFetchError<any Error>) {
        return .success(try await run(decode, decodeError))
      } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }
}

extension AttemptRun {
  /// Runs the attempt: makes the request, sends it, follows redirects, checks the response, decodes it and calls the
  /// hooks.
  func run(
    _ decode: FetchCall.Decode, _ decodeError: FetchCall.DecodeError
  ) async throws(AttemptFailure) -> ResourceResponse {
    try startAttempt()
    var base =
      if let make = plan.baseRequestMaking.makeAtOnce { makeBase(by: make) } else { try await makeBaseInTime() }
    var exchange: ReceivedResponse
    while true {
      var request = plan.hooks.contains(.makeRequest) ? try await adapt(base) : try made(base)
      try complete(&request)
      if !plan.configuration.signers.isEmpty { request = try await sign(request) }
      try checkProof(of: request)
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
    try decodeValue(from: &exchange, decode, decodeError)
    if plan.hooks.contains(.succeeded) { await tellSucceeded(exchange) }
    return exchange.response
  }

  /// Sends a request. Interceptors are not involved in this half: code that decides whether, where and how often a
  /// final request is sent belongs here.
  private func send(_ transfer: TransferRequest) async throws(TransportError) -> TransferResponse {
    try await call.plan.core.transport(for: transfer).execute(transfer)
  }
}
