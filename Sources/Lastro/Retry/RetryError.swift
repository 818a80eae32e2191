// SPDX-License-Identifier: Apache-2.0

extension Retry {
  /// Why an operation is not retried any more.
  @nonexhaustive
  public enum Error: Swift.Error, Sendable, CustomStringConvertible {
    /// The configured number of retries has been made.
    case retries(Retries)
    /// The configured sum of delays has been spent.
    case delay(Delay)
    /// Another reason, such as one that a ``Retry/Policy/custom(_:)`` rule gave.
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
