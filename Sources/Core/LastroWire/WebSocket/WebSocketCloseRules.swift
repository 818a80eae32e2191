// SPDX-License-Identifier: Apache-2.0

/// The rules for Close frames (RFC 6455 §5.5.1 and §7.4).
package enum WebSocketCloseRules {
  /// The maximum length of a reason in bytes.
  package static let maximumReasonBytes = 123

  /// Returns whether a Close frame may contain the code: registered codes, except 1005, 1006 and 1015, which are never
  /// sent, and 3000 to 4999, which belong to libraries and applications.
  package static func isValid(_ code: UInt16) -> Bool {
    switch code {
    case 1000...1003, 1007...1014, 3000...4999: true
    default: false
    }
  }

  /// Parses the payload of a Close frame.
  package static func parse(_ payload: [UInt8]) throws(WebSocketViolation) -> (code: UInt16?, reason: String) {
    guard !payload.isEmpty else { return (nil, "") }
    guard payload.count >= 2 else {
      throw WebSocketViolation(.closePayload, "a Close frame has a payload of one byte")
    }
    let code = UInt16(payload[0]) << 8 | UInt16(payload[1])
    guard isValid(code) else {
      throw WebSocketViolation(.closePayload, "a Close frame has the code \(code), which may not be sent")
    }
    guard let reason = String(validating: payload[2...], as: UTF8.self) else {
      throw WebSocketViolation(.utf8, "the reason in a Close frame is not UTF-8")
    }
    return (code, reason)
  }

  /// Returns the payload of a Close frame. It is empty without a code.
  package static func payload(code: UInt16?, reason: String) -> [UInt8] {
    guard let code else { return [] }
    return [UInt8(code >> 8), UInt8(code & 0xFF)] + Array(reason.utf8)
  }
}
