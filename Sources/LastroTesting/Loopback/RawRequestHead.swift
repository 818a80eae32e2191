// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// A request head as it came over the wire: nothing normalised, nothing dropped.
public struct RawRequestHead: Sendable, Hashable {
  /// A header field as sent, optional white space around the value removed.
  public struct Field: Sendable, Hashable {
    /// The name, in the sender's case.
    public var name: String
    /// The value.
    public var value: String

    /// Makes a field.
    public init(name: String, value: String) {
      self.name = name
      self.value = value
    }
  }

  /// The first line, without its end.
  public var requestLine: String
  /// Such as `GET`.
  public var method: String
  /// Such as `/users?page=2`.
  public var target: String
  /// Such as `HTTP/1.1`.
  public var version: String
  /// The header fields in their order, duplicates included.
  public var fields: [Field]
  /// All bytes of the head, up to and with the empty line.
  public var bytes: [UInt8]

  /// The first value of a header field, whatever the case of its name.
  public subscript(name: String) -> String? { values(name).first }

  /// All values of a header field, whatever the case of its name.
  public func values(_ name: String) -> [String] {
    let wanted = name.lowercased()
    return fields.filter { $0.name.lowercased() == wanted }.map(\.value)
  }

  /// The target up to its `?`.
  public var path: String { String(target.prefix { $0 != "?" }) }

  /// Whether a body of chunks follows (RFC 9112 §7.1).
  public var isChunked: Bool { self["Transfer-Encoding"]?.lowercased().contains("chunked") ?? false }

  /// Whether a body follows, chunked or of a length other than 0.
  public var hasBody: Bool { isChunked || (self["Content-Length"].map { $0 != "0" } ?? false) }
}

extension RawRequestHead {
  /// Parses lines without their ends: the request line, then fields.
  package init(lines: [String], bytes: [UInt8]) throws(LoopbackError) {
    guard let first = lines.first else { throw .malformedRequest("it is empty") }
    let words = first.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
    guard words.count == 3 else { throw .malformedRequest("\"\(first)\" is not a request line") }
    var fields: [Field] = []
    for line in lines.dropFirst() {
      guard let colon = line.utf8.firstIndex(of: UInt8(ascii: ":")) else {
        throw .malformedRequest("\"\(line)\" is not a header field")
      }
      let value = line[colon...].dropFirst()
      fields.append(Field(name: String(line[..<colon]), value: String(value.withoutBlanks)))
    }
    self.init(
      requestLine: first, method: String(words[0]), target: String(words[1]), version: String(words[2]),
      fields: fields, bytes: bytes)
  }
}
