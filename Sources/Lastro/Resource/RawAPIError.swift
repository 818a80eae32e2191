// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// The error of an API as bytes that are not decoded; see ``ErrorDecoding/raw``.
public struct RawAPIError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The body of the answer.
  public var bytes: Data

  /// Wraps bytes.
  public init(bytes: Data) { self.bytes = bytes }

  /// How many bytes there are; not which.
  public var description: String { "an error of \(bytes.count) bytes" }
}
