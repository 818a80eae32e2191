// SPDX-License-Identifier: Apache-2.0

/// The namespace of types that all network stacks share.
public enum Network {
  /// The result of a fetch: a value, and its response.
  public struct Value<T, Response> {
    /// The fetched value, such as a model.
    public let value: T
    /// The response that contained the value.
    public let response: Response

    /// Pairs a value with its response.
    public init(value: T, response: Response) {
      self.value = value
      self.response = response
    }

    /// Returns a copy whose value is the result of `transform`. The response stays the same.
    public func mapValue<U, Failure: Error>(
      _ transform: (T, Response) throws(Failure) -> U
    ) throws(Failure) -> Value<U, Response> {
      Value<U, Response>(value: try transform(value, response), response: response)
    }
  }
}

extension Network.Value: Sendable where T: Sendable, Response: Sendable {}
extension Network.Value: Equatable where T: Equatable, Response: Equatable {}
