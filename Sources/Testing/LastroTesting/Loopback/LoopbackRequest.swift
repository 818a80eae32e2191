// SPDX-License-Identifier: Apache-2.0

public import Lastro
internal import LastroSupport

/// A request that a loopback server has read.
public struct LoopbackRequest: Sendable, Hashable {
  /// The head as received.
  package var head: RawRequestHead
  /// The body, with chunks decoded; empty until it is read.
  public var body: [UInt8]
  /// The fields after the body, as received; empty until they are read.
  package var trailerFields: [RawRequestHead.Field] = []
  /// Whether the whole request was read; immediately true if the head announces no body.
  package var isComplete: Bool
  /// The number of its connection, from 1, in order of acceptance.
  package var connection: Int
  /// The number of its stream on the connection; `nil` over HTTP/1.1.
  package var stream: UInt32?
  /// The code with which the client reset the stream (RST_STREAM); `nil` if it did not, and over HTTP/1.1.
  package var resetCode: LoopbackHTTP2Code?

  /// The method, such as `GET`.
  public var method: String { head.method }
  /// The target, such as `/users?page=2`.
  public var target: String { head.target }
  /// The header fields in order; look-ups such as `headers["Host"]` ignore the case of the name.
  public var headers: RawHeaders { RawHeaders(head.fields.map { ($0.name, $0.value) }) }
  /// The fields after the body, in order; empty until they are read.
  public var trailers: RawHeaders { RawHeaders(trailerFields.map { ($0.name, $0.value) }) }
  /// The target up to its `?`, still percent-encoded. The query is in ``target`` and ``queryItem(_:)``; a request that
  /// ``ScriptedTransport`` records has both in its `head.path`.
  public var path: String { head.path }
  /// The body as UTF-8, with invalid bytes repaired.
  public var text: String { String(decoding: body, as: UTF8.self) }

  /// The percent-decoded segments of the path.
  public var pathSegments: [String] {
    path.split(separator: "/").map { Self.percentDecoded($0) }
  }

  /// Returns the first value of a query item, percent-decoded; `""` for an item without `=`.
  public func queryItem(_ name: String) -> String? {
    guard let mark = target.firstIndex(of: "?") else { return nil }
    for item in target[mark...].dropFirst().split(separator: "&") {
      let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      if let first = parts.first, Self.percentDecoded(first) == name {
        return parts.count > 1 ? Self.percentDecoded(parts[1]) : ""
      }
    }
    return nil
  }

  static func percentDecoded(_ text: Substring) -> String {
    var decoded: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
      let digits = String(decoding: rest.prefix(2), as: UTF8.self)
      if byte == UInt8(ascii: "%"), digits.utf8.count == 2, let value = UInt8(digits: digits, radix: 16) {
        decoded.append(value)
        rest = rest.dropFirst(2)
      } else {
        decoded.append(byte)
      }
    }
    return String(decoding: decoded, as: UTF8.self)
  }
}

extension LoopbackRequest {
  /// Creates a request without a body, which is complete.
  package init(_ head: RawRequestHead, connection: Int) {
    self.init(head: head, body: [], isComplete: true, connection: connection)
  }
}
