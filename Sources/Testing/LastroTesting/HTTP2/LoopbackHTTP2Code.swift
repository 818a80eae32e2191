// SPDX-License-Identifier: Apache-2.0

/// An error code of HTTP/2 (RFC 9113 §7). Any number can be sent.
package struct LoopbackHTTP2Code: RawRepresentable, Sendable, Hashable, ExpressibleByIntegerLiteral {
  /// The number on the wire.
  package var rawValue: UInt32

  /// Creates a code from a number.
  package init(rawValue: UInt32) { self.rawValue = rawValue }

  /// Creates a code from a number.
  package init(integerLiteral value: UInt32) { rawValue = value }

  /// NO_ERROR.
  package static let noError: Self = 0x0
  /// PROTOCOL_ERROR.
  package static let protocolError: Self = 0x1
  /// INTERNAL_ERROR.
  package static let internalError: Self = 0x2
  /// FLOW_CONTROL_ERROR.
  package static let flowControlError: Self = 0x3
  /// STREAM_CLOSED.
  package static let streamClosed: Self = 0x5
  /// REFUSED_STREAM: the request was not processed (RFC 9113 §8.7).
  package static let refusedStream: Self = 0x7
  /// CANCEL.
  package static let cancel: Self = 0x8
  /// COMPRESSION_ERROR.
  package static let compressionError: Self = 0x9
  /// ENHANCE_YOUR_CALM.
  package static let enhanceYourCalm: Self = 0xb
  /// INADEQUATE_SECURITY.
  package static let inadequateSecurity: Self = 0xc
  /// HTTP_1_1_REQUIRED.
  package static let http11Required: Self = 0xd
}
