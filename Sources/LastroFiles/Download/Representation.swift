// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro
import LastroWire

/// What an answer says of what is downloaded, as far as going on with it depends on it.
struct Representation: Hashable, Sendable, Codable {
  /// `ETag` as it came, weak or strong.
  var entityTag: String?
  /// `Last-Modified` as it came.
  var lastModified: String?
  /// What `If-Range` carries: `nil` where nothing proves that a part belongs to what came before.
  var validator: String?
  /// Length of the whole; `nil` where it is not known.
  var total: Int64?
  var contentType: String?
  /// What the bytes are coded in, although no coding was asked for.
  var contentEncoding: String?
  /// `Repr-Digest` as it came (RFC 9530 §3), over the whole.
  var digest: String?
  /// A name that the server offers for the file, cleaned.
  var offeredName: String?

  /// Reads a head.
  ///
  /// - Parameter total: length of the whole, as the head says.
  init(_ fields: HTTPFields, total: Int64?) {
    entityTag = fields[.eTag]
    lastModified = fields[.lastModified]
    self.total = total
    contentType = fields[.contentType]
    contentEncoding = fields[.contentEncoding].flatMap { ContentCoding.isNone($0) ? nil : $0 }
    digest = fields[.reprDigest]
    offeredName = fields[.contentDisposition].flatMap(OfferedName.read)
    let allowsRanges = !(fields[.acceptRanges] ?? "").lowercased().split(separator: ",").contains {
      $0.withoutBlanks == "none"
    }
    validator = allowsRanges && contentEncoding == nil ? Self.validator(fields) : nil
  }

  /// A strong validator (RFC 9110 §8.8.1): the tag, unless it is weak; else the date, where it is old enough that what
  /// it names had not changed twice in its second (§8.8.2.2).
  private static func validator(_ fields: HTTPFields) -> String? {
    if let tag = fields[.eTag] { return isStrong(tag) ? tag : nil }
    guard let modified = fields[.lastModified], let date = fields[.date],
      let from = HTTPDate.seconds(modified, now: 0), let to = HTTPDate.seconds(date, now: 0), to > from
    else { return nil }
    return modified
  }

  /// RFC 9110 §8.8.3: `"` etagc `"`, without `W/` before it.
  private static func isStrong(_ tag: String) -> Bool {
    let bytes = Array(tag.utf8)
    guard bytes.count >= 2, bytes.first == 0x22, bytes.last == 0x22 else { return false }
    return bytes.dropFirst().dropLast().allSatisfy { $0 == 0x21 || $0 > 0x22 && $0 != 0x7F }
  }

  /// Why an answer with a part is not of this; `nil` where it may be.
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
  // Forced: letters and a hyphen are a field name (RFC 9110 §5.6.2), and no other name could stand in.
  // swift-format-ignore: NeverForceUnwrap
  static let reprDigest = HTTPField.Name("Repr-Digest")!
  // swift-format-ignore: NeverForceUnwrap
  static let wantReprDigest = HTTPField.Name("Want-Repr-Digest")!
  // swift-format-ignore: NeverForceUnwrap
  static let contentDigest = HTTPField.Name("Content-Digest")!
}
