// SPDX-License-Identifier: Apache-2.0

/// What of a stored answer is given (RFC 9110 §14.2).
package enum CacheServing: Sendable, Hashable {
  case whole
  /// 206 with these bytes.
  case part(Range<Int64>)
  /// 416: the body has none of the bytes.
  case unsatisfiable

  /// `nil` where the answer has not what is asked for: then the server is.
  package init?(of entry: CacheEntry, to request: CacheRequest) {
    guard entry.isCoded(for: request) else { return nil }
    // To HEAD a range says nothing.
    guard request.method == "GET", let value = request.fields.first("range") else {
      self = .whole
      return
    }
    // Bytes of another coding are no range of anything.
    guard !entry.isDecoded else { return nil }
    // Of another status than 200 there are no parts.
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
  /// Whether `If-Range` holds: by strong comparison (RFC 9110 §13.1.5).
  fileprivate func isStrongly(_ condition: String) -> Bool {
    if condition.hasPrefix("\"") { return condition == tag }
    if condition.hasPrefix("W/") { return false }
    // A date is strong where it is well before the answer's own (§8.8.2.2).
    guard condition == lastModified, let modified = HTTPDate.seconds(condition, now: received.components.seconds) else {
      return false
    }
    return date - .seconds(modified) >= .seconds(1)
  }
}

extension CacheFields {
  /// The fields of an answer with a part of the body.
  package func ofPart(_ range: Range<Int64>, of length: Int64) -> CacheFields {
    var result = self
    result.set("Content-Range", "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(length)")
    result.set("Content-Length", "\(range.upperBound - range.lowerBound)")
    return result
  }
}
