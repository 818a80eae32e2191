// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// What stands beside a file that is being downloaded, so that another process can go on with it. It has no credentials
/// in it, and is never ahead of the disk.
struct DownloadRecord: Codable, Hashable {
  /// Another version is not read.
  static let currentVersion = 1
  /// More is not read.
  static let maximumBytes = 256 * 1024

  var version = Self.currentVersion
  /// For people: the URL, what is secret in it masked.
  var url: String
  /// Names what is downloaded: a hash of its URL, or of the name that the caller gave it.
  var source: String
  var method = "GET"
  var representation: Representation
  /// Which bytes are there for certain, in order.
  var done: [ByteRange]
  /// The part file that it tells of.
  var file: FileStatus.Identity
  /// Whether all is there and was checked, so that only the name is missing.
  var isVerified = false

  /// Bytes from one on, up to but not including another.
  struct ByteRange: Codable, Hashable {
    var from: Int64
    var to: Int64
  }

  /// How many bytes are there from the start on.
  var prefix: Int64 {
    var end: Int64 = 0
    for range in done where range.from <= end { end = max(end, range.to) }
    return end
  }

  func encoded() -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    // It holds texts and numbers alone, which always encode.
    return (try? encoder.encode(self)) ?? Data()
  }

  /// `nil` for what is not a record, or makes no sense.
  init?(_ bytes: Data) {
    guard bytes.count <= Self.maximumBytes, let record = try? JSONDecoder().decode(Self.self, from: bytes),
      record.version == Self.currentVersion, record.method == "GET",
      record.done.allSatisfy({ $0.from >= 0 && $0.to >= $0.from }), record.representation.total ?? 0 >= 0,
      record.representation.total.map({ total in record.done.allSatisfy { $0.to <= total } }) ?? true
    else { return nil }
    self = record
  }

  init(
    url: String, source: String, representation: Representation, done: [ByteRange], file: FileStatus.Identity,
    isVerified: Bool = false
  ) {
    self.url = url
    self.source = source
    self.representation = representation
    self.done = done
    self.file = file
    self.isVerified = isVerified
  }
}
