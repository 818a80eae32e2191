// SPDX-License-Identifier: Apache-2.0

/// What a cache knows of an answer that it has, but for its body. Times are since 1970-01-01 00:00:00 UTC.
package struct CacheEntry: Sendable, Hashable {
  package var status: Int
  package var fields: CacheFields
  /// When its request was handed over, or that of its last validation.
  package var requested: Duration
  /// When its head had come, or that of its last validation.
  package var received: Duration
  /// Bytes of its body.
  package var length: Int64
  /// Whether its body is no longer in the content coding that its fields name.
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

  /// Whether its body is as the request wants it: with its coding, or without. A server need not say in `Vary` that it
  /// codes for some. HEAD gets no body, and of ranges `CacheServing` decides.
  package func isCoded(for request: CacheRequest) -> Bool {
    request.method == "HEAD" || request.fields.contains("range") || !fields.contains("content-encoding")
      || isDecoded != request.leavesCoding
  }

  package var lastModified: String? { fields.first("last-modified") }

  /// When the server says that it made the answer; the receipt where it does not say it well.
  package var date: Duration {
    let now = received.components.seconds
    guard let text = fields.first("date"), let date = HTTPDate.seconds(text, now: now) else { return .seconds(now) }
    return .seconds(date)
  }
}
