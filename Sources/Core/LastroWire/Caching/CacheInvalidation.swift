// SPDX-License-Identifier: Apache-2.0

/// The invalidation of stored responses by other methods (RFC 9111 §4.4).
package enum CacheInvalidation {
  private static let safeMethods: Set<String> = ["GET", "HEAD", "OPTIONS", "TRACE", "QUERY"]

  /// Returns whether a response invalidates the entries of its URL. Unknown methods are assumed to be unsafe.
  package static func isCaused(byMethod method: String, status: Int) -> Bool {
    !safeMethods.contains(method) && (200...399).contains(status)
  }

  /// Returns references to further URLs. They are invalidated if they have the same origin.
  package static func references(_ fields: CacheFields) -> [String] {
    ["location", "content-location"].compactMap(fields.first)
  }
}
