// SPDX-License-Identifier: Apache-2.0

/// The part of a stored response to serve (RFC 9110 §14.2).
package enum CacheServing: Sendable, Hashable {
  case whole
  /// Serve these bytes with status 206.
  case part(Range<Int64>)
  /// Respond with 416, because the body has none of the bytes.
  case unsatisfiable

  /// Selects the part to serve; `nil` if the entry does not have it, so that the server has to be contacted.
  package init?(of entry: CacheEntry, to request: CacheRequest) {
    guard entry.isCoded(for: request) else { return nil }
    // HEAD ignores ranges.
    guard request.method == "GET", let value = request.fields.first("range") else {
      self = .whole
      return
    }
    // Byte offsets in another coding are meaningless.
    guard !entry.isDecoded else { return nil }
    // Only a response with status 200 can be served in part.
    guard entry.status == 200, let asked = ByteRange.request(value) else {
      self = .whole
      return
    }
    guard case .one(let range) = asked else { return nil }
    if let condition = request.fields.first("if-range"), !entry.isStrongly(condition) {
      self = .whole
      return
    }
    self = range.bytes(of: entry.length).map { .part($0) } ?? .unsatisfiable
  }
}

extension CacheEntry {
  /// Returns whether `If-Range` holds, by strong comparison (RFC 9110 §13.1.5).
  fileprivate func isStrongly(_ condition: String) -> Bool {
    if condition.hasPrefix("\"") { return condition == tag }
    if condition.hasPrefix("W/") { return false }
    // A date is a strong validator if it is at least one second before the response's own date (§8.8.2.2).
    guard condition == lastModified, let modified = HTTPDate.seconds(condition, now: received.components.seconds) else {
      return false
    }
    return date - .seconds(modified) >= .seconds(1)
  }
}

extension CacheFields {
  /// Returns the fields of a partial response.
  package func ofPart(_ range: Range<Int64>, of length: Int64) -> CacheFields {
    var result = self
    result.set("Content-Range", "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(length)")
    result.set("Content-Length", "\(range.upperBound - range.lowerBound)")
    return result
  }
}
