// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro
import LastroWire

/// The properties of the downloaded file, as a response describes them, on which resuming depends.
struct Representation: Hashable, Sendable, Codable {
  /// `ETag` as received, weak or strong.
  var entityTag: String?
  /// `Last-Modified` as received.
  var lastModified: String?
  /// The value of `If-Range`; `nil` if nothing proves that a part belongs to the earlier bytes.
  var validator: String?
  /// The length of the whole file; `nil` if it is unknown.
  var total: Int64?
  /// The content coding of the bytes, although none was requested.
  var contentEncoding: String?
  /// `Repr-Digest` as received (RFC 9530 §3), over the whole file.
  var digest: String?
  /// A name that the server offers for the file, cleaned.
  var offeredName: String?
  /// The reason why there is no ``validator``, so that the download cannot be resumed; `nil` if there is one.
  var obstacle: String?

  /// Reads the fields of a head.
  ///
  /// - Parameters:
  ///   - total: the length of the whole file according to the head.
  ///   - receivedAt: the time at which the head was received, in seconds since 1970. It is used if the server sends no
  ///     `Date` (RFC 9110 §6.6.1).
  init(_ fields: HTTPFields, total: Int64?, receivedAt: Int64? = nil) {
    entityTag = fields[.eTag]
    lastModified = fields[.lastModified]
    self.total = total
    contentEncoding = fields[.contentEncoding].flatMap { FieldSyntax.isNoContentCoding($0) ? nil : $0 }
    digest = fields[.reprDigest]
    offeredName = fields[.contentDisposition].flatMap(OfferedName.read)
    let allowsRanges = !(fields[.acceptRanges] ?? "").lowercased().split(separator: ",").contains {
      $0.withoutBlanks == "none"
    }
    switch Self.validator(fields, receivedAt) {
    case _ where !allowsRanges: obstacle = "the server serves no ranges (Accept-Ranges: none)"
    case _ where contentEncoding != nil: obstacle = "the body has a content coding that was not asked for"
    case .success(let text): validator = text
    case .failure(let reason): obstacle = reason.text
    }
  }

  private struct Obstacle: Error { var text: String }

  /// Returns a strong validator (RFC 9110 §8.8.1): the entity tag unless it is weak; without a tag, the modification
  /// date if it is old enough that the file cannot have changed again in the same second (§8.8.2.2).
  private static func validator(_ fields: HTTPFields, _ receivedAt: Int64?) -> Result<String, Obstacle> {
    if let tag = fields[.eTag] {
      if isStrong(tag) { return .success(tag) }
      return .failure(Obstacle(text: "the server's ETag is \(tag.hasPrefix("W/") ? "weak" : "malformed")"))
    }
    guard let modified = fields[.lastModified], let from = HTTPDate.seconds(modified, now: 0) else {
      return .failure(Obstacle(text: "the server sends neither an ETag nor a Last-Modified that can be read"))
    }
    if let date = fields[.date] {
      guard let to = HTTPDate.seconds(date, now: 0), to > from else {
        return .failure(Obstacle(text: "the server's Last-Modified is not older than its Date"))
      }
      return .success(modified)
    }
    // Our clock and the server's may differ.
    guard let receivedAt, receivedAt - from >= 60 else {
      return .failure(Obstacle(text: "the server sends no Date, and its Last-Modified is less than 60 s old"))
    }
    return .success(modified)
  }

  /// Whether a tag is a valid strong entity tag (RFC 9110 §8.8.3): `"` etagc `"`, without `W/` before it.
  private static func isStrong(_ tag: String) -> Bool {
    let bytes = Array(tag.utf8)
    guard bytes.count >= 2, bytes.first == 0x22, bytes.last == 0x22 else { return false }
    return bytes.dropFirst().dropLast().allSatisfy { $0 == 0x21 || $0 > 0x22 && $0 != 0x7F }
  }

  /// Returns the reason why a partial response is not of this representation; `nil` if it may be.
  func mismatch(with part: Representation) -> String? {
    if let tag = part.entityTag, tag != entityTag {
      return "the part's ETag is \(tag.prefix(80)), not \(entityTag?.prefix(80) ?? "absent")"
    }
    if entityTag == nil, let date = part.lastModified, date != lastModified {
      return "the part was modified at \(date.prefix(40)), not at \(lastModified?.prefix(40) ?? "an unknown time")"
    }
    if let other = part.total, let total, other != total {
      return "the part is of \(other.counted("byte")) in all, not of \(total)"
    }
    if part.contentEncoding != contentEncoding { return "the part has another content coding" }
    if let other = part.digest, let digest, other != digest { return "the part's Repr-Digest is another" }
    return nil
  }
}

extension HTTPField.Name {
  // Force-unwrapped: letters and a hyphen form a valid field name (RFC 9110 §5.6.2), and no fallback name would do.
  // swift-format-ignore: NeverForceUnwrap
  static let reprDigest = HTTPField.Name("Repr-Digest")!
  // swift-format-ignore: NeverForceUnwrap
  static let wantReprDigest = HTTPField.Name("Want-Repr-Digest")!
  // swift-format-ignore: NeverForceUnwrap
  static let contentDigest = HTTPField.Name("Content-Digest")!
}
