// SPDX-License-Identifier: Apache-2.0

/// An error code of RST_STREAM or GOAWAY (RFC 9113 §7). Unknown codes are treated as INTERNAL_ERROR.
package struct HTTP2ErrorCode: RawRepresentable, Hashable, Sendable {
  package var rawValue: UInt32

  package init(rawValue: UInt32) { self.rawValue = rawValue }

  package static let noError = Self(rawValue: 0x0)
  package static let protocolError = Self(rawValue: 0x1)
  package static let internalError = Self(rawValue: 0x2)
  package static let flowControlError = Self(rawValue: 0x3)
  package static let settingsTimeout = Self(rawValue: 0x4)
  package static let streamClosed = Self(rawValue: 0x5)
  package static let frameSizeError = Self(rawValue: 0x6)
  package static let refusedStream = Self(rawValue: 0x7)
  package static let cancel = Self(rawValue: 0x8)
  package static let compressionError = Self(rawValue: 0x9)
  package static let connectError = Self(rawValue: 0xA)
  package static let enhanceYourCalm = Self(rawValue: 0xB)
  package static let inadequateSecurity = Self(rawValue: 0xC)
  package static let http11Required = Self(rawValue: 0xD)

  /// All named codes, ordered by number.
  package static let named: [(code: Self, name: String)] = [
    (.noError, "NO_ERROR"), (.protocolError, "PROTOCOL_ERROR"), (.internalError, "INTERNAL_ERROR"),
    (.flowControlError, "FLOW_CONTROL_ERROR"), (.settingsTimeout, "SETTINGS_TIMEOUT"),
    (.streamClosed, "STREAM_CLOSED"), (.frameSizeError, "FRAME_SIZE_ERROR"), (.refusedStream, "REFUSED_STREAM"),
    (.cancel, "CANCEL"), (.compressionError, "COMPRESSION_ERROR"), (.connectError, "CONNECT_ERROR"),
    (.enhanceYourCalm, "ENHANCE_YOUR_CALM"), (.inadequateSecurity, "INADEQUATE_SECURITY"),
    (.http11Required, "HTTP_1_1_REQUIRED"),
  ]
}

extension HTTP2ErrorCode: CustomStringConvertible {
  /// The code's name in RFC 9113, or its number.
  package var description: String {
    rawValue < Self.named.count ? Self.named[Int(rawValue)].name : "error code \(rawValue)"
  }
}
