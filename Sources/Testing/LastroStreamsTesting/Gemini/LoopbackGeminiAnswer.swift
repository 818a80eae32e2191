// SPDX-License-Identifier: Apache-2.0

import Lastro
internal import LastroTesting

/// The response of a ``LoopbackGeminiServer`` to a request, which may be invalid.
package struct LoopbackGeminiAnswer: Sendable {
  /// The end of the connection after the bytes.
  package enum End: Sendable, Hashable {
    /// TLS is closed in order (close_notify), then TCP.
    case close
    /// TCP is closed without close_notify: a truncation.
    case truncate
    /// A TCP reset.
    case reset
    /// Nothing more is sent until the client goes away.
    case stall
  }

  /// The bytes to send, header and body.
  package var bytes: [UInt8]
  /// The number of bytes per write, each in its own TLS record; less than 1 counts as 1. Default: all bytes.
  package var pieceBytes = Int.max
  /// The end of the connection. Default ``End/close``.
  package var end = End.close

  /// Creates an answer from any bytes.
  package init(_ bytes: some Collection<UInt8>, pieceBytes: Int = .max, end: End = .close) {
    self.bytes = Array(bytes)
    self.pieceBytes = max(1, pieceBytes)
    self.end = end
  }

  /// Creates an answer from any text; add the line ends yourself.
  package init(_ text: String, pieceBytes: Int = .max, end: End = .close) {
    self.init(Array(text.utf8), pieceBytes: pieceBytes, end: end)
  }

  /// Returns an answer with `20 type` and a body.
  package static func success(_ body: some Collection<UInt8>, type: String = "text/gemini") -> Self {
    Self(Array("20 \(type)\r\n".utf8) + Array(body))
  }

  /// Returns an answer with `20 type` and a body.
  package static func success(_ body: String, type: String = "text/gemini") -> Self {
    success(Array(body.utf8), type: type)
  }

  /// Returns an answer with only a header.
  package static func header(_ status: Int, _ meta: String = "") -> Self { Self("\(status) \(meta)\r\n") }

  /// An answer that sends nothing until the client goes away.
  package static let silence = Self("", end: .stall)

  /// The same answer, sent one byte at a time.
  package var byteByByte: Self { Self(bytes, pieceBytes: 1, end: end) }
}
