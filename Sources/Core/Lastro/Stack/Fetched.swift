// SPDX-License-Identifier: Apache-2.0

/// The result of a fetch: a value, and its response.
public struct Fetched<Value, Response> {
  /// The fetched value, such as a model.
  public let value: Value
  /// The response that contained the value.
  public let response: Response

  /// Pairs a value with its response.
  public init(value: Value, response: Response) {
    self.value = value
    self.response = response
  }

  /// Returns a copy whose value is the result of `transform`. The response stays the same.
  public func mapValue<U, Failure: Error>(
    _ transform: (Value, Response) throws(Failure) -> U
  ) throws(Failure) -> Fetched<U, Response> {
    Fetched<U, Response>(value: try transform(value, response), response: response)
  }
}

extension Fetched: Sendable where Value: Sendable, Response: Sendable {}
extension Fetched: Equatable where Value: Equatable, Response: Equatable {}
