// SPDX-License-Identifier: Apache-2.0

/// The name of a workload, such as `spiffe://example.org/shop/orders`, or of a trust domain, such as
/// `spiffe://example.org`.
///
/// ```swift
/// let orders = try SPIFFEID("spiffe://example.org/shop/orders")
/// ```
///
/// Two IDs are equal if their texts are equal byte by byte. Source: the SPIFFE standard SPIFFE-ID, section 2.
public struct SPIFFEID: Sendable, Hashable, CustomStringConvertible {
  private static let scheme = "spiffe://"
  private static let maximumBytes = 2_048
  private static let maximumDomainBytes = 255

  /// The ID, with the scheme.
  public let text: String
  /// The name of the trust domain, such as `example.org`.
  public let trustDomain: String
  /// The path of the workload, such as `/shop/orders`; empty for the ID of a trust domain.
  public var path: String {
    String(Substring(text.utf8.dropFirst(Self.scheme.utf8.count + trustDomain.utf8.count)))
  }
  /// The ID, with the scheme.
  public var description: String { text }

  /// Parses an ID.
  ///
  /// An ID has at most 2,048 bytes. The name of the trust domain consists of 1 to 255 lower-case letters, digits, dots,
  /// dashes and underscores. The path is empty, or consists of segments of letters, digits, dots, dashes and
  /// underscores, which are neither empty nor `.` or `..`. There is no user, port, query, fragment or percent-encoding.
  ///
  /// - Throws: ``ConfigurationError`` for a text that is not such an ID.
  public init(_ text: String) throws(ConfigurationError) {
    func fault(_ problem: String, _ hint: String) -> ConfigurationError {
      ConfigurationError("the SPIFFE ID \"\(text.cut(to: 120).escapedForDisplay)\" \(problem)", hint: hint)
    }
    let count = text.utf8.count
    guard count <= Self.maximumBytes else { throw fault("has \(count) bytes", "give at most 2048 bytes") }
    guard text.utf8.starts(with: Self.scheme.utf8) else {
      throw fault("does not begin with spiffe://", "write spiffe://TRUST-DOMAIN/PATH")
    }
    let name = text.utf8.dropFirst(Self.scheme.utf8.count).prefix { $0 != UInt8(ascii: "/") }
    guard !name.isEmpty else { throw fault("names no trust domain", "write spiffe://TRUST-DOMAIN/PATH") }
    guard name.count <= Self.maximumDomainBytes else {
      throw fault("has a trust domain of \(name.count) bytes", "give at most 255 bytes")
    }
    if let byte = name.first(where: { !Self.isOfSegment($0) || Self.isUpperCase($0) }) {
      throw fault("has \(Self.shown(byte)) in its trust domain", Self.domainHint(byte))
    }
    for segment in text.utf8[name.endIndex...].split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
      .dropFirst()
    {
      if segment.isEmpty {
        throw fault("has an empty path segment", "write one slash between segments, and none at the end")
      }
      if segment.elementsEqual(".".utf8) || segment.elementsEqual("..".utf8) {
        throw fault("has a path segment of dots alone", "write the path without . and ..")
      }
      if let byte = segment.first(where: { !Self.isOfSegment($0) }) {
        throw fault(
          "has \(Self.shown(byte)) in its path",
          "use only letters, digits, dots, dashes and underscores, without query, fragment or percent-encoding")
      }
    }
    self.text = text
    trustDomain = String(Substring(name))
  }

  private static func isOfSegment(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"):
      true
    default: false
    }
  }

  private static func isUpperCase(_ byte: UInt8) -> Bool { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) }

  private static func shown(_ byte: UInt8) -> String {
    (0x21..<0x7f).contains(byte) ? "the character \(Character(UnicodeScalar(byte)))" : "the byte \(byte)"
  }

  private static func domainHint(_ byte: UInt8) -> String {
    switch byte {
    case _ where isUpperCase(byte): "write the trust domain in lower case"
    case UInt8(ascii: "@"), UInt8(ascii: ":"): "leave user and port out"
    default: "use only letters a to z, digits, dots, dashes and underscores"
    }
  }
}
