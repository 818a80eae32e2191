// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The text of one JSON line. Bytes are written as the characters of ISO 8859-1 with the same numbers, so that a line
/// is ASCII and any bytes can be compared.
struct Text {
  private(set) var bytes: [UInt8] = []

  mutating func raw(_ text: StaticString) { text.withUTF8Buffer { bytes += $0 } }

  mutating func number(_ value: Int64?) {
    if let value { bytes += String(value).utf8 } else { raw("null") }
  }

  mutating func flag(_ value: Bool) { raw(value ? "true" : "false") }

  mutating func string(_ value: some Sequence<UInt8>) {
    bytes.append(0x22)
    for byte in value {
      if byte < 0x20 || byte > 0x7E || byte == 0x22 || byte == 0x5C {
        raw("\\u00")
        bytes += [Self.digit(byte >> 4), Self.digit(byte & 15)]
      } else {
        bytes.append(byte)
      }
    }
    bytes.append(0x22)
  }

  mutating func string(_ value: String?) {
    if let value { string(value.utf8) } else { raw("null") }
  }

  mutating func list<Element>(_ elements: some Sequence<Element>, _ write: (inout Text, Element) -> Void) {
    raw("[")
    for (index, element) in elements.enumerated() {
      if index > 0 { raw(",") }
      write(&self, element)
    }
    raw("]")
  }

  private static func digit(_ value: UInt8) -> UInt8 { value < 10 ? 0x30 + value : 0x57 + value }
}

/// The standard input and output of a program that converts one into the other.
enum Standard {
  static func input() -> [UInt8] {
    var all: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 1 << 20)
    while true {
      let count = read(0, &buffer, buffer.count)
      guard count > 0 else { return all }
      all += buffer[..<count]
    }
  }

  static func output(_ bytes: [UInt8]) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { write(1, $0.baseAddress, $0.count) }
      guard count > 0 else { exit(1) }
      rest = rest.dropFirst(count)
    }
  }

  static func fail(_ message: String) -> Never {
    let line = Array((message + "\n").utf8)
    _ = line.withUnsafeBytes { write(2, $0.baseAddress, $0.count) }
    exit(64)
  }
}
