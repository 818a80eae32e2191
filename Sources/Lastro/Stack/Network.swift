// SPDX-License-Identifier: Apache-2.0

/// Namespace of what is common to all network stacks.
public enum Network {
  /// What a fetch gives: a value, and the response it came with.
  public struct Value<T, Response> {
    /// What the fetch gives, such as a model.
    public let value: T
    /// The response that the value came in.
    public let response: Response

    /// Pairs a value with its response.
    public init(value: T, response: Response) {
      self.value = value
      self.response = response
    }

    /// Makes another value out of this one and its response, which stays the same.
    public func mapValue<U, Failure: Error>(
      _ transform: (T, Response) throws(Failure) -> U
    ) throws(Failure) -> Value<U, Response> {
      Value<U, Response>(value: try transform(value, response), response: response)
    }
  }
}

extension Network.Value: Sendable where T: Sendable, Response: Sendable {}
extension Network.Value: Equatable where T: Equatable, Response: Equatable {}
