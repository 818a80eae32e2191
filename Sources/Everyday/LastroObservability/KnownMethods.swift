// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

/// The methods that appear under their own name in metrics and spans; any other is `_OTHER`. This bounds the number of
/// attribute sets, even if a server or a caller invents methods.
///
/// Methods are case-sensitive, as in HTTP.
package struct KnownMethods: Sendable, Hashable {
  /// The methods, such as `GET`.
  package let names: Set<String>

  /// Creates a set that replaces the usual one.
  package init(_ names: Set<String>) { self.names = names }

  /// The methods of RFC 9110 and RFC 5789, and QUERY.
  package static let usual = KnownMethods([
    "CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "QUERY", "TRACE",
  ])

  /// The methods listed in the environment variable `OTEL_INSTRUMENTATION_HTTP_KNOWN_METHODS`, separated by commas,
  /// which replace all others; ``usual`` if it is unset or empty. It is read on each access.
  package static var environment: KnownMethods {
    listed(in: ProcessInfo.processInfo.environment["OTEL_INSTRUMENTATION_HTTP_KNOWN_METHODS"])
  }

  static func listed(in text: String?) -> KnownMethods {
    let names = (text ?? "").split(whereSeparator: { $0 == "," || $0.isWhitespace }).map(String.init)
    return names.isEmpty ? .usual : KnownMethods(Set(names))
  }
}
