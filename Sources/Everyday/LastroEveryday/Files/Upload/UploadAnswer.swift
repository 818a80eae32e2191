// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import LastroSupport
import LastroWire

/// The fields of a response about an upload, in either protocol.
struct UploadAnswer: Hashable, Sendable {
  var status: Int
  /// `Location` as received.
  var location: String?
  /// `Upload-Offset`: the number of bytes that the server has.
  var offset: Int64?
  /// `Upload-Complete`: whether the server has the whole file, so that the response is the target's own.
  var isComplete: Bool?
  /// `Upload-Length`.
  var length: Int64?
  var limit = UploadLimit()
  /// `Tus-Version`: the versions that the server supports.
  var versions: String?

  init(_ head: HTTPResponse, _ dialect: UploadProtocol) {
    let fields = head.headerFields
    status = head.status.code
    location = fields[.location]
    switch dialect {
    case .tus:
      offset = fields[.uploadOffset].flatMap { Int64(digits: $0) }
      length = fields[.uploadLength].flatMap { Int64(digits: $0) }
      limit.maximumBytes = fields[.tusMaxSize].flatMap { Int64(digits: $0) }
      versions = fields[.tusVersion]
    case .draft:
      offset = fields[.uploadOffset].flatMap(Self.item)
      length = fields[.uploadLength].flatMap(Self.item)
      if case .boolean(let value) = fields[.uploadComplete].flatMap({ StructuredReader.item($0.utf8)?.value }) {
        isComplete = value
      }
      limit = fields[.uploadLimit].map(UploadLimit.init) ?? UploadLimit()
    }
  }

  /// Parses a non-negative integer (RFC 9651 §3.3.1).
  private static func item(_ text: String) -> Int64? {
    guard case .integer(let number) = StructuredReader.item(text.utf8)?.value, number >= 0 else { return nil }
    return number
  }
}

/// The limits of a server (`Upload-Limit` of the IETF's draft, §4.1.4); each `nil` means no limit.
struct UploadLimit: Hashable, Sendable {
  var maximumBytes: Int64?
  var minimumBytes: Int64?
  var maximumAppendBytes: Int64?
  var minimumAppendBytes: Int64?

  init() {}

  /// Parses the field. A known name with a value of another type voids the whole field; unknown names are ignored.
  init(_ field: String) {
    guard let dictionary = StructuredReader.dictionary(field.utf8) else { return }
    var read: [String: Int64] = [:]
    for name in ["max-size", "min-size", "max-append-size", "min-append-size", "max-age"] {
      guard let member = dictionary[name] else { continue }
      guard case .integer(let number) = member.value, number >= 0 else { return }
      read[name] = number
    }
    maximumBytes = read["max-size"]
    minimumBytes = read["min-size"]
    maximumAppendBytes = read["max-append-size"].flatMap { $0 > 0 ? $0 : nil }
    minimumAppendBytes = read["min-append-size"]
  }

  /// Adopts the limits that another value has.
  mutating func update(by other: Self) {
    maximumBytes = other.maximumBytes ?? maximumBytes
    minimumBytes = other.minimumBytes ?? minimumBytes
    maximumAppendBytes = other.maximumAppendBytes ?? maximumAppendBytes
    minimumAppendBytes = other.minimumAppendBytes ?? minimumAppendBytes
  }
}

extension HTTPField.Name {
  // Force-unwrapped: letters and hyphens form a valid field name (RFC 9110 §5.6.2), and no fallback name would do.
  // swift-format-ignore: NeverForceUnwrap
  static let uploadOffset = HTTPField.Name("Upload-Offset")!
  // swift-format-ignore: NeverForceUnwrap
  static let uploadLength = HTTPField.Name("Upload-Length")!
  // swift-format-ignore: NeverForceUnwrap
  static let uploadComplete = HTTPField.Name("Upload-Complete")!
  // swift-format-ignore: NeverForceUnwrap
  static let uploadLimit = HTTPField.Name("Upload-Limit")!
  // swift-format-ignore: NeverForceUnwrap
  static let interopVersion = HTTPField.Name("Upload-Draft-Interop-Version")!
  // swift-format-ignore: NeverForceUnwrap
  static let tusMaxSize = HTTPField.Name("Tus-Max-Size")!
  // swift-format-ignore: NeverForceUnwrap
  static let tusVersion = HTTPField.Name("Tus-Version")!
}
