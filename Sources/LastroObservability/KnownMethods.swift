// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The methods that have a name of their own in metrics and spans; any other is `_OTHER`, so that a server, or a caller
/// that makes methods up, cannot make ever more sets of attributes.
///
/// Methods are told apart by case, as HTTP does.
public struct KnownMethods: Sendable, Hashable {
  /// The methods, such as `GET`.
  public let names: Set<String>

  /// Makes a set in place of the usual one.
  public init(_ names: Set<String>) { self.names = names }

  /// Those of RFC 9110 and RFC 5789, and QUERY.
  public static let usual = KnownMethods([
    "CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "QUERY", "TRACE",
  ])

  /// Those that the environment variable `OTEL_INSTRUMENTATION_HTTP_KNOWN_METHODS` lists, with commas between them, in
  /// place of all others; ``usual`` where it is not set or lists none. Read at each access.
  public static var environment: KnownMethods {
    listed(in: ProcessInfo.processInfo.environment["OTEL_INSTRUMENTATION_HTTP_KNOWN_METHODS"])
  }

  static func listed(in text: String?) -> KnownMethods {
    let names = (text ?? "").split(whereSeparator: { $0 == "," || $0.isWhitespace }).map(String.init)
    return names.isEmpty ? .usual : KnownMethods(Set(names))
  }
}
