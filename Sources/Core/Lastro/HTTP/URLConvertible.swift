// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

/// A value that states the URL of a request: a `String`, or Foundation's `URL`.
///
/// A string is parsed by the rules of ``HTTPResourceEndpoint``, and is refused with a reason if it is no usable URL.
public protocol URLConvertible {
  /// The URL as text.
  var urlText: String { get }
}

extension String: URLConvertible {
  /// The string itself.
  public var urlText: String { self }
}

extension URL: URLConvertible {
  /// The absolute URL.
  public var urlText: String { absoluteString }
}
