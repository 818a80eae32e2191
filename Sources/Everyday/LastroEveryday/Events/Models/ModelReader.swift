// SPDX-License-Identifier: Apache-2.0

import Lastro

/// An iterator over models that ends once: at its end, or with its first error.
protocol ModelReader {
  associatedtype Model
  associatedtype APIError: Error

  /// Whether the iterator has ended.
  var isOver: Bool { get }

  /// Returns the next model; `nil` at the proper end.
  mutating func find() async throws(HTTPFetchError<APIError>) -> Model?

  /// Ends the iterator, and lets go of its connection.
  mutating func finish()
}

extension ModelReader {
  mutating func nextOrEnd() async throws(HTTPFetchError<APIError>) -> Model? {
    guard !isOver else { return nil }
    do throws(HTTPFetchError<APIError>) {
      if let model = try await find() { return model }
    } catch {
      finish()
      throw error
    }
    finish()
    return nil
  }
}
