// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import Lastro

/// A request head as received: nothing is normalised or dropped.
package struct RawRequestHead: Sendable, Hashable {
  /// A header field as sent, without optional white space around the value.
  package struct Field: Sendable, Hashable {
    /// The name, in the sender's case.
    package var name: String
    /// The value.
    package var value: String

    /// Creates a field.
    package init(name: String, value: String) {
      self.name = name
      self.value = value
    }
  }

  /// The first line, without its end.
  package var requestLine: String
  /// The method, such as `GET`.
  package var method: String
  /// The target, such as `/users?page=2`.
  package var target: String
  /// The version, such as `HTTP/1.1`.
  package var version: String
  /// The header fields in order, including duplicates.
  package var fields: [Field]
  /// The bytes of the head, including the empty line.
  package var bytes: [UInt8]

  /// The first value of a header field; the case of its name is ignored.
  package subscript(name: String) -> String? { values(name).first }

  /// Returns all values of a header field; the case of its name is ignored.
  package func values(_ name: String) -> [String] {
    let wanted = name.lowercased()
    return fields.filter { $0.name.lowercased() == wanted }.map(\.value)
  }

  /// The target up to its `?`.
  package var path: String { String(target.prefix { $0 != "?" }) }

  /// Whether a chunked body follows (RFC 9112 §7.1).
  package var isChunked: Bool { self["Transfer-Encoding"]?.lowercased().contains("chunked") ?? false }

  /// Whether a body follows: chunked, or with a length other than 0.
  package var hasBody: Bool { isChunked || (self["Content-Length"].map { $0 != "0" } ?? false) }
}

extension RawRequestHead {
  /// Refuses a head whose body may end elsewhere for another reader, which could smuggle a second request (RFC 9112 §6.3
  /// and §11.2).
  func checkFraming() throws(LoopbackError) {
    if let field = fields.first(where: { HTTPField.Name($0.name) == nil }) {
      throw .malformedRequest("\"\(field.name)\" is not the name of a field")
    }
    let codings = values("Transfer-Encoding")
    guard codings.count + values("Content-Length").count <= 1 else {
      throw .malformedRequest("it has more than one length")
    }
    guard codings.allSatisfy({ $0.lowercased() == "chunked" && version == "HTTP/1.1" }) else {
      throw .malformedRequest("its transfer coding is not only \"chunked\"")
    }
  }

  /// Parses lines without line ends: the request line, then the fields.
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
