// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes
public import Lastro

/// What the end of an attempt says of the server, to a circuit breaker and to a set of endpoints.
public enum AttemptVerdict: Sendable, Hashable, CaseIterable {
  /// The server works.
  case success
  /// The server, or what leads to it, does not work.
  case failure
  /// It says nothing: the caller cancelled, or the request was refused on this side.
  case ignored
}

/// What the end of an attempt says of load, to a concurrency limiter.
public enum LoadSample: Sendable, Hashable, CaseIterable {
  /// Its duration is a sample of the server's latency.
  case measured
  /// The server, or the network, had no room for it.
  case dropped
  /// It says nothing.
  case ignored
}

/// What the end of a try says to hedging.
enum HedgeVerdict: Sendable, Hashable, CaseIterable {
  /// It is the answer.
  case acceptable
  /// Another try may do better.
  case unacceptable
  /// No other try would do better.
  case ends
}

/// The end of one attempt, as each mechanism reads it: one table for all of them.
///
/// | end | ``verdict`` | ``load`` |
/// |---|---|---|
/// | status below 400, 501, 505, 4xx but 408 and 429 | success | measured |
/// | 408, 500, 502, other 5xx | failure | measured |
/// | 503, 504 | failure | dropped |
/// | 429 | ignored | dropped |
/// | no connection | failure | dropped, where it was refused or timed out; else ignored |
/// | connection lost, body truncated | failure | ignored |
/// | connect, attempt and idle timeout | failure | dropped |
/// | total timeout, cancellation, trust, limits, refused requests, decoding | ignored | ignored |
///
/// ```swift
/// permit.end(AttemptOutcome(status: response.status).verdict)
/// ```
public struct AttemptOutcome: Sendable, Hashable {
  /// What it says of the server.
  public var verdict: AttemptVerdict
  /// What it says of load.
  public var load: LoadSample
  /// What it says to hedging.
  var hedge: HedgeVerdict
  /// How long the server asks to be left alone (429 and 503 with `Retry-After`). Default `nil`.
  public var retryAfter: Duration?

  init(verdict: AttemptVerdict, load: LoadSample, hedge: HedgeVerdict, retryAfter: Duration? = nil) {
    self.verdict = verdict
    self.load = load
    self.hedge = hedge
    self.retryAfter = retryAfter
  }

  /// The outcome of an answer.
  public init(status: HTTPResponse.Status) { self.init(code: status.code) }

  init(code: Int) {
    switch code {
    case 503, 504: self.init(verdict: .failure, load: .dropped, hedge: .unacceptable)
    case 429: self.init(verdict: .ignored, load: .dropped, hedge: .unacceptable)
    case 501, 505: self.init(verdict: .success, load: .measured, hedge: .acceptable)
    case 408, 500...: self.init(verdict: .failure, load: .measured, hedge: .unacceptable)
    default: self.init(verdict: .success, load: .measured, hedge: .acceptable)
    }
  }

  /// The outcome of a failure.
  public init(_ error: TransportError) {
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

  /// The outcome of a fetch, for what is ended once a call and not once an attempt, such as an ``EndpointLease``: that
  /// of its last attempt. A fetch that failed before or behind the transfer, such as in decoding, says nothing.
  ///
  /// ```swift
  /// lease.end(AttemptOutcome(error).verdict, latency: latency)
  /// ```
  public init<APIError>(_ error: HTTPFetchError<APIError>) {
    switch error.reason {
    case .http(let status, _): self.init(status: status)
    case .transport(let error), .badResponse(let error): self.init(error)
    default: self = .silent
    }
  }

  /// The outcome of what a transport brought.
  init(_ result: Result<TransferResponse, TransportError>, sinceEpoch: @autoclosure () -> Duration) {
    switch result {
    case .failure(let error): self.init(error)
    case .success(let answer):
      self.init(code: answer.head.statusCode)
      retryAfter = answer.head.retryAfter(sinceEpoch())
    }
  }

  /// What says nothing of the server.
  static let silent = AttemptOutcome(verdict: .ignored, load: .ignored, hedge: .ends)
}

extension HTTPResponse {
  /// How long the server wants to be left alone: what a 429 or 503 says with `Retry-After`.
  func retryAfter(_ sinceEpoch: @autoclosure () -> Duration) -> Duration? {
    guard statusCode == 429 || statusCode == 503 else { return nil }
    let sinceEpoch = sinceEpoch()
    return RetryAfter.wait(headerFields) { sinceEpoch }
  }
}
