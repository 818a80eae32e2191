// SPDX-License-Identifier: Apache-2.0

extension Retry {
  /// The reason of a policy not to retry an operation any more.
  @nonexhaustive
  public enum Error: Swift.Error, Sendable, CustomStringConvertible {
    /// The configured number of retries is reached.
    case retries(Retries)
    /// The configured sum of delays is reached.
    case delay(Delay)
    /// Another reason, such as one from a ``Retry/Policy/custom(_:)`` rule.
    case custom(any Swift.Error)

    /// The reason on one line.
    public var description: String {
      switch self {
      case .retries(let count): "the limit of \(count == 1 ? "1 retry" : "\(count) retries") is reached"
      case .delay(let limit): "the limit of \(limit.brief) of delay is reached"
      case .custom(let error): "\(error)"
      }
    }
  }
}
