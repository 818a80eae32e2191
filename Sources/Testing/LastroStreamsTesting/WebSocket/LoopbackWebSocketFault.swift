// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroTesting

extension LoopbackWebSocketBehavior.Fault {
  /// The frames that violate the rule.
  var bytes: [UInt8] {
    switch self {
    case .maskedFrame: [0x81, 0x82, 0, 0, 0, 0, 0x68, 0x69]
    case .reservedBit: [0xC1, 0x02, 0x68, 0x69]
    case .otherReservedBit: [0x91, 0x02, 0x68, 0x69]
    case .reservedOpcode: [0x83, 0x00]
    case .invalidUTF8: [0x81, 0x03, 0x61, 0xFF, 0x62]
    case .splitInvalidUTF8: [0x01, 0x02, 0x61, 0xC3, 0x80, 0x01, 0x62]
    case .longControl: [0x89, 0x7E, 0x00, 0x7E] + [UInt8](repeating: 0, count: 126)
    case .fragmentedControl: [0x09, 0x01, 0x61, 0x80, 0x01, 0x62]
    case .strayContinuation: [0x80, 0x02, 0x68, 0x69]
    case .interleavedMessage: [0x01, 0x01, 0x61, 0x81, 0x01, 0x62]
    case .wastefulLength: [0x81, 0x7E, 0x00, 0x02, 0x68, 0x69]
    case .negativeLength: [0x82, 0x7F, 0x80, 0, 0, 0, 0, 0, 0, 1]
    case .hugeFrame: [0x82, 0x7F, 0, 0, 1, 0, 0, 0, 0, 0]
    case .shortClose: [0x88, 0x01, 0x03]
    case .invalidCloseCode: [0x88, 0x02, 0x03, 0xED]
    case .invalidCloseReason: [0x88, 0x03, 0x03, 0xE8, 0xFF]
    }
  }

  /// The code with which a client must close.
  package var expectedCode: UInt16 {
    switch self {
    case .invalidUTF8, .splitInvalidUTF8, .invalidCloseReason: 1007
    case .hugeFrame: 1009
    default: 1002
    }
  }
}
