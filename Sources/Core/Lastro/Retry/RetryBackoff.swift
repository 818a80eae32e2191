// SPDX-License-Identifier: Apache-2.0

extension Retry {
  /// A sequence of delays, and the condition that ends it.
  public enum Backoff: Sendable {
    /// Returns the delay of a retry; `retry` is 1 for the first.
    public typealias Scale = @Sendable (_ baseDelay: Delay, _ retry: Retries) -> Delay

    /// A condition that ends the retries.
    public enum Truncation: Sendable, Hashable, CustomStringConvertible {
      /// Ends after this number of retries.
      case maxRetries(Retries)
      /// Ends when the sum of the previous delays reaches this value. The next delay is not counted, so the last delay
      /// may exceed the value. An exponential delay is limited to this value.
      case maxDelay(Delay)
      /// Ends before the sum of the delays would exceed this value, so it is never exceeded.
      case budget(Delay)

      /// A short text, such as `3 retries`.
      public var description: String {
        switch self {
        case .maxRetries(let limit): limit == 1 ? "1 retry" : "\(limit) retries"
        case .maxDelay(let limit): "\(limit.brief) of delay"
        case .budget(let limit): "a budget of \(limit.brief) of delay"
        }
      }
    }

    /// The same delay every time.
    case constant(delay: Delay, until: Truncation)
    /// A delay that grows with the number of retries.
    case exponential(baseDelay: Delay, scale: Scale, until: Truncation)

    func action(after state: State) -> Action {
      let truncation =
        switch self {
        case .constant(_, let until), .exponential(_, _, let until): until
        }
      switch truncation {
      case .maxRetries(let limit) where state.retryCount >= limit: return .noRetry(.retries(limit))
      case .maxDelay(let limit) where state.totalDelay >= limit: return .noRetry(.delay(limit))
      default: break
      }
      let delay = delay(ofRetry: state.retryCount + 1, until: truncation)
      if case .budget(let limit) = truncation, max(delay, .zero) > limit - state.totalDelay {
        return .noRetry(.delay(limit))
      }
      return .retryAfter(delay)
    }

    private func delay(ofRetry retry: Retries, until truncation: Truncation) -> Delay {
      switch self {
      case .constant(let delay, _): return delay
      case .exponential(let base, let scale, _):
        let scaled = scale(base, retry)
        if case .maxDelay(let limit) = truncation { return min(scaled, limit) }
        return scaled
      }
    }
  }
}

extension Retry.Backoff {
  /// The scale `baseDelay · 2^(retry - 1)`, without jitter. From the thirty-second retry on, the delay is that of the
  /// thirty-first.
  public static let doubling: Scale = { base, retry in
    min(max(base, .zero), Retry.longestDelay) * (1 << min(max(retry, 1) - 1, 30))
  }

  /// Returns a scale with full jitter: a random delay from zero up to `min(cap, baseDelay · 2^(retry - 1))`. Clients
  /// that failed at the same time thus retry at different times.
  ///
  /// - Parameters:
  ///   - cap: the longest delay. Default 20 s.
  ///   - random: the source of randomness. Default: the system's.
  public static func fullJitter(cap: Retry.Delay = .seconds(20), random: RandomSource = .system) -> Scale {
    { base, retry in min(cap, doubling(base, retry)) * random.unit() }
  }
}
