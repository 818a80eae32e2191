// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

/// The error of an API as undecoded bytes; see ``ErrorDecoding/raw``.
public struct RawAPIError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The body of the response.
  public var bytes: Data

  /// Wraps bytes.
  public init(bytes: Data) { self.bytes = bytes }

  /// The number of bytes, without their content.
  public var description: String { "an error of \(bytes.count) bytes" }
}
