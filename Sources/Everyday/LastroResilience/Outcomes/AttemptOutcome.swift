// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes
package import Lastro

/// The verdict of an attempt on the server, for a circuit breaker and a set of endpoints.
package enum AttemptVerdict: Sendable, Hashable, CaseIterable {
  /// The server works.
  case success
  /// The server, or the path to it, does not work.
  case failure
  /// The attempt says nothing about the server: the caller cancelled, or the request was refused locally.
  case ignored
}

/// The load signal of an attempt, for a concurrency limiter.
package enum LoadSample: Sendable, Hashable, CaseIterable {
  /// Its duration is a sample of the server's latency.
  case measured
  /// The server or the network had no capacity for the attempt.
  case dropped
  /// The attempt says nothing about load.
  case ignored
}

/// The verdict of a try, for hedging.
enum HedgeVerdict: Sendable, Hashable, CaseIterable {
  /// The try's result becomes that of the attempt.
  case acceptable
  /// Another try may succeed.
  case unacceptable
  /// No other try would do better.
  case ends
}

/// The end of an attempt, classified for each mechanism by one table.
///
/// | end | ``verdict`` | ``load`` |
/// |---|---|---|
/// | status below 400, 501, 505, 4xx except 408 and 429 | success | measured |
/// | 408, 500, 502, other 5xx | failure | measured |
/// | 503, 504 | failure | dropped |
/// | 429 | ignored | dropped |
/// | no connection | failure | dropped if it was refused or timed out; else ignored |
/// | connection lost, body truncated | failure | ignored |
/// | connect, attempt and idle timeout | failure | dropped |
/// | total timeout, cancellation, trust, limits, refused requests, decoding | ignored | ignored |
///
/// ```swift
/// permit.end(AttemptOutcome(status: response.status).verdict)
/// ```
package struct AttemptOutcome: Sendable, Hashable {
  /// The verdict on the server.
  package var verdict: AttemptVerdict
  /// The load signal.
  package var load: LoadSample
  /// The verdict for hedging.
  var hedge: HedgeVerdict
  /// The time for which the server asks not to be called (429 and 503 with `Retry-After`). Default `nil`.
  package var retryAfter: Duration?
}

extension AttemptOutcome {
  /// Creates the outcome of a response.
  package init(status: HTTPResponse.Status) { self.init(code: status.code) }

  init(code: Int) {
    switch code {
    case 503, 504: self.init(verdict: .failure, load: .dropped, hedge: .unacceptable)
    case 429: self.init(verdict: .ignored, load: .dropped, hedge: .unacceptable)
    case 501, 505: self.init(verdict: .success, load: .measured, hedge: .acceptable)
    case 408, 500...: self.init(verdict: .failure, load: .measured, hedge: .unacceptable)
    default: self.init(verdict: .success, load: .measured, hedge: .acceptable)
    }
  }

  /// Creates the outcome of a failure.
  package init(_ error: TransportError) {
    switch (error.stage, error.code) {
    case (.timeout, .totalTimeout): self = .silent
    case (.timeout, _), (.connect, .connectFailed):
      self.init(verdict: .failure, load: .dropped, hedge: .unacceptable)
    case (.tls, .handshakeFailed), (.resolve, _), (.connect, _), (.send, _), (.response, _),
      (.proxy, .proxyConnectFailed), (.proxy, .proxyNotFound):
      self.init(verdict: .failure, load: .ignored, hedge: .unacceptable)
    default: self = .silent
    }
  }

  /// Creates the outcome of a fetch, for a report that is made once per call instead of once per attempt, such as that
  /// of an ``EndpointSet``. The outcome is that of the last attempt. A fetch that failed before or after the transfer,
  /// for example in decoding, is ignored.
  package init<APIError>(_ error: HTTPFetchError<APIError>) {
    switch error.reason {
    case .http(let status, _): self.init(status: status)
    case .transport(let error), .badResponse(let error): self.init(error)
    default: self = .silent
    }
  }

  /// Creates the outcome of a transport's result.
  init(_ result: Result<TransferResponse, TransportError>, sinceEpoch: @autoclosure () -> Duration) {
    switch result {
    case .failure(let error): self.init(error)
    case .success(let answer):
      self.init(code: answer.head.statusCode)
      retryAfter = answer.head.retryAfter(sinceEpoch())
    }
  }

  /// An outcome that says nothing about the server.
  static let silent = AttemptOutcome(verdict: .ignored, load: .ignored, hedge: .ends)
}

/// An error that has an outcome, whatever the API's own error type is.
protocol OutcomeTelling: Error {
  var outcome: AttemptOutcome { get }
}

extension HTTPFetchError: OutcomeTelling {
  var outcome: AttemptOutcome { AttemptOutcome(self) }
}

extension HTTPResponse {
  /// Returns how long the server asks not to be called: the `Retry-After` of a 429 or 503.
  func retryAfter(_ sinceEpoch: @autoclosure () -> Duration) -> Duration? {
    guard statusCode == 429 || statusCode == 503 else { return nil }
    let sinceEpoch = sinceEpoch()
    return RetryAfter.wait(headerFields) { sinceEpoch }
  }
}
