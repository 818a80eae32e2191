// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

/// The state file next to a file that is being downloaded, by which another process can resume the download. It
/// contains no credentials, and never claims more bytes than are on disk.
struct DownloadRecord: Codable, Hashable {
  /// The version of the format; a record of another version is ignored.
  static let currentVersion = 1
  /// The maximum size of a state file; a larger one is ignored.
  static let maximumBytes = 256 * 1024

  var version = Self.currentVersion
  /// The URL with secrets masked, for human readers.
  var url: String
  /// The identity of the downloaded resource: a hash of its URL, or of the name that the caller gave.
  var source: String
  var method = "GET"
  var representation: Representation
  /// The byte ranges known to be on disk, in order.
  var done: [ByteRange]
  /// The identity of the part file that the record describes.
  var file: FileStatus.Identity
  /// Whether the file is complete and verified, so that only the rename is missing.
  var isVerified = false

  /// A range of bytes, without its upper bound.
  struct ByteRange: Codable, Hashable {
    var from: Int64
    var to: Int64
  }

  /// The number of bytes on disk without a gap from the start of the file.
  var prefix: Int64 {
    var end: Int64 = 0
    for range in done where range.from <= end { end = max(end, range.to) }
    return end
  }

  func encoded() -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    // The record contains only texts and numbers, which always encode.
    return (try? encoder.encode(self)) ?? Data()
  }
}

extension DownloadRecord {
  /// Returns `nil` for bytes that are not a record, or are inconsistent.
  init?(_ bytes: Data) {
    guard bytes.count <= Self.maximumBytes, let record = try? JSONDecoder().decode(Self.self, from: bytes),
      record.version == Self.currentVersion, record.method == "GET",
      record.done.allSatisfy({ $0.from >= 0 && $0.to >= $0.from }), record.representation.total ?? 0 >= 0,
      record.representation.total.map({ total in record.done.allSatisfy { $0.to <= total } }) ?? true
    else { return nil }
    self = record
  }
}
