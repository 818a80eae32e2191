// SPDX-License-Identifier: Apache-2.0

/// Which answers to other methods make stored ones untrue (RFC 9111 §4.4).
package enum CacheInvalidation {
  private static let safeMethods: Set<String> = ["GET", "HEAD", "OPTIONS", "TRACE", "QUERY"]

  /// Whether an answer invalidates what is stored for its URL. A method that is unknown may have changed anything.
  package static func isCaused(byMethod method: String, status: Int) -> Bool {
    !safeMethods.contains(method) && (200...399).contains(status)
  }

  /// References to further URLs, which are invalidated where they are of the same origin.
  package static func references(_ fields: CacheFields) -> [String] {
    ["location", "content-location"].compactMap(fields.first)
  }
}
