// SPDX-License-Identifier: Apache-2.0

internal import CLastroHTTP2

/// An error code of RST_STREAM or GOAWAY (RFC 9113 §7). Unknown codes are treated as INTERNAL_ERROR.
package struct HTTP2ErrorCode: RawRepresentable, Hashable, Sendable {
  package var rawValue: UInt32

  package init(rawValue: UInt32) { self.rawValue = rawValue }

  package static let noError = Self(rawValue: 0x0)
  package static let protocolError = Self(rawValue: 0x1)
  package static let internalError = Self(rawValue: 0x2)
  package static let flowControlError = Self(rawValue: 0x3)
  package static let refusedStream = Self(rawValue: 0x7)
  package static let cancel = Self(rawValue: 0x8)
  package static let compressionError = Self(rawValue: 0x9)
  package static let enhanceYourCalm = Self(rawValue: 0xB)
  package static let inadequateSecurity = Self(rawValue: 0xC)
  package static let http11Required = Self(rawValue: 0xD)
}

extension HTTP2ErrorCode: CustomStringConvertible {
  /// The code's name in RFC 9113, or its number.
  package var description: String {
    rawValue <= Self.http11Required.rawValue
      ? String(cString: nghttp2_http2_strerror(rawValue)) : "error code \(rawValue)"
  }
}
