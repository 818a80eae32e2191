// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import LastroSupport
import TestSupport
import Testing

@testable import Lastro

/// An engine whose transfers are recorded, each as a call of its own without retries and redirects, unless a stack with a
/// recorder makes them.
struct RecordedEngine: LinkedEngine {
  let base: any LinkedEngine
  let recorder: CallRecorder

  var activeTransfers: Int { base.activeTransfers }

  func shutDown(cancelling: Bool) async { await base.shutDown(cancelling: cancelling) }

  func explain(_ request: TransferRequest) -> [(name: String, value: String)] { base.explain(request) }

  func execute(_ request: TransferRequest) async throws(TransportError) -> TransferResponse {
    if request.tape != nil { return try await base.execute(request) }
    let inner = Inner(base: base, request: request)
    var configuration = StackConfiguration.patient
    configuration.recorder = recorder
    configuration.maximumErrorBodyBytes = request.maximumErrorBytes ?? .max
    let stack = TransportNetworkStack(transport: inner, configuration: configuration)
    let resource = RawHTTPResource.raw(Self.resourceRequest(request))
    do throws(HTTPFetchError<any Error>) {
      if case .collected = request.delivery {
        _ = try await stack.fetch(resource)
      } else {
        let body = try await stack.stream(resource).value
        inner.answer.withLock { $0?.body = body }
      }
    } catch {
      if error.stage != .http { throw inner.error.withLock { $0 } ?? error.transportError ?? .cancelled() }
    }
    guard let answer = inner.answer.withLock({ $0 }) else { throw .cancelled() }
    return answer
  }

  /// Returns the request of a call that makes a transfer with the limits of `request`.
  private static func resourceRequest(_ request: TransferRequest) -> ResourceRequest {
    var result = request.resourceRequest
    var timeouts = Timeouts.standard
    (timeouts.connect, timeouts.idle) = (request.connectTimeout, request.idleTimeout)
    let isAttempt = request.deadlineCode == .attemptTimeout
    timeouts.attempt = isAttempt ? request.deadline : nil
    timeouts.total = isAttempt ? nil : request.deadline
    result.options.timeouts = timeouts
    result.options.redirects = RedirectPolicy.none
    result.options.idempotency = request.allowsResend ? .idempotent : .notIdempotent
    switch request.delivery {
    case .collected(let maximum): result.options.maximumBodyBytes = maximum
    case .streamed(let maximum), .streamedOnSuccess(let maximum, _): result.options.maximumBodyBytes = maximum
    }
    return result
  }

  /// Passes the request of the call to the engine, and keeps its result.
  private final class Inner: Transport {
    let base: any LinkedEngine
    let request: TransferRequest
    let answer = Lock<TransferResponse?>(nil)
    let error = Lock<TransportError?>(nil)

    init(base: any LinkedEngine, request: TransferRequest) { (self.base, self.request) = (base, request) }

    func execute(_ made: TransferRequest) async throws(TransportError) -> TransferResponse {
      var made = made
      made.allowsResend = request.allowsResend
      made.progress = request.progress
      do throws(TransportError) {
        let response = try await base.execute(made)
        answer.withLock { $0 = response }
        return response
      } catch {
        self.error.withLock { $0 = error }
        throw error
      }
    }
  }
}
