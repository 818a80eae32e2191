// SPDX-License-Identifier: Apache-2.0

public import Lastro

/// A request a loopback server has read.
public struct LoopbackRequest: Sendable, Hashable {
  /// The head as it came.
  public var head: RawRequestHead
  /// The body, chunks undone; empty while it is not read.
  public var body: [UInt8]
  /// Fields behind the body; empty while they are not read.
  public var trailers: [RawRequestHead.Field] = []
  /// Whether all of it was read: true at once when the head announces no body.
  public var isComplete: Bool
  /// Number of the connection it came over, from 1, in the order of acceptance.
  public var connection: Int
  /// Number of its stream on the connection; `nil` over HTTP/1.1.
  public var stream: UInt32?
  /// The code the client gave when it gave up the stream (RST_STREAM); `nil` while it has not, and over HTTP/1.1.
  public var resetCode: LoopbackHTTP2Code?

  /// Such as `GET`.
  public var method: String { head.method }
  /// Such as `/users?page=2`.
  public var target: String { head.target }
  /// The header fields, in their order: `headers["Host"]`, whatever the case of the name.
  public var headers: RawHeaders { RawHeaders(head.fields.map { ($0.name, $0.value) }) }
  /// The target up to its `?`, still percent-encoded. The query is in ``target`` and ``queryItem(_:)``; a request that
  /// ``ScriptedTransport`` keeps has both in its `head.path`.
  public var path: String { head.path }
  /// The body as UTF-8, repaired where it is not.
  public var text: String { String(decoding: body, as: UTF8.self) }

  /// The path's segments, percent-decoding undone.
  public var pathSegments: [String] {
    path.split(separator: "/").map { Self.percentDecoded($0) }
  }

  /// The first value of a query item, percent-decoding undone; `""` for an item without `=`.
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
      if byte == UInt8(ascii: "%"), digits.utf8.count == 2, let value = UInt8(digits, radix: 16) {
        decoded.append(value)
        rest = rest.dropFirst(2)
      } else {
        decoded.append(byte)
      }
    }
    return String(decoding: decoded, as: UTF8.self)
  }
}
