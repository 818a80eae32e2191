// SPDX-License-Identifier: Apache-2.0

/// The metadata of a stored response. Times are relative to 1970-01-01 00:00:00 UTC.
package struct CacheEntry: Sendable, Hashable {
  package var status: Int
  package var fields: CacheFields
  /// The time at which its request, or its last validation request, was sent.
  package var requested: Duration
  /// The time at which its head, or that of its last validation, was received.
  package var received: Duration
  /// The length of its body in bytes.
  package var length: Int64
  /// Whether its content coding was removed from the stored body.
  package var isDecoded: Bool

  package init(
    status: Int, fields: CacheFields, requested: Duration, received: Duration, length: Int64 = 0,
    isDecoded: Bool = false
  ) {
    self.status = status
    self.fields = fields
    self.requested = requested
    self.received = received
    self.length = length
    self.isDecoded = isDecoded
  }

  package var control: CacheControl { CacheControl(fields) }

  /// The entity tag, byte for byte.
  package var tag: String? { fields.first("etag").flatMap { $0.isEmpty ? nil : $0 } }

  /// Returns whether the body's coding matches the request: encoded or decoded. A server need not list
  /// `Accept-Encoding` in `Vary` even if it encodes for some clients. HEAD gets no body, and `CacheServing` handles
  /// ranges.
  package func isCoded(for request: CacheRequest) -> Bool {
    request.method == "HEAD" || request.fields.contains("range") || !fields.contains("content-encoding")
      || isDecoded != request.leavesCoding
  }

  package var lastModified: String? { fields.first("last-modified") }

  /// The time at which the server generated the response; the time of receipt if `Date` is missing or invalid.
  package var date: Duration {
    let now = received.components.seconds
    guard let text = fields.first("date"), let date = HTTPDate.seconds(text, now: now) else { return .seconds(now) }
    return .seconds(date)
  }
}
