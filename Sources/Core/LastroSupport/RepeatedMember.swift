// SPDX-License-Identifier: Apache-2.0

/// Finds duplicate members in the objects of a JSON text. Decoders use one of them without an error.
package struct RepeatedMember {
  private struct Frame {
    var isObject: Bool
    var names: Set<String> = []
    /// Whether the next text is a name.
    var expectsName = true
    var key = AnyKey(stringValue: "")
  }

  private var frames: [Frame] = []

  /// Returns the path of the first duplicate member; `nil` if there is none or the text is not JSON.
  ///
  /// - Parameters:
  ///   - bytes: the text in UTF-8.
  ///   - unescape: returns the name for the text between the quotes; called only if that has a backslash.
  package static func path(
    in bytes: [UInt8], unescaping unescape: (_ escaped: String) -> String?
  ) -> [any CodingKey]? {
    var scan = Self()
    var index = 0
    while index < bytes.count {
      let byte = bytes[index]
      index += 1
      guard byte == UInt8(ascii: "\"") else {
        scan.read(byte)
        continue
      }
      let start = index
      while index < bytes.count, bytes[index] != UInt8(ascii: "\"") {
        index += bytes[index] == UInt8(ascii: "\\") ? 2 : 1
      }
      guard index < bytes.count else { return nil }
      if !scan.readText(bytes[start..<index], unescape) { return scan.frames.map(\.key) }
      index += 1
    }
    return nil
  }

  private mutating func read(_ byte: UInt8) {
    switch byte {
    case UInt8(ascii: "{"): frames.append(Frame(isObject: true))
    case UInt8(ascii: "["):
      frames.append(Frame(isObject: false))
      frames[frames.count - 1].key = AnyKey(intValue: 0)
    case UInt8(ascii: "}"), UInt8(ascii: "]"): _ = frames.popLast()
    case UInt8(ascii: ","):
      guard let frame = frames.last else { return }
      if !frame.isObject { frames[frames.count - 1].key = AnyKey(intValue: (frame.key.intValue ?? 0) &+ 1) }
      frames[frames.count - 1].expectsName = true
    case UInt8(ascii: ":"):
      if !frames.isEmpty { frames[frames.count - 1].expectsName = false }
    default: break
    }
  }

  /// Handles a text. Returns `false` if it is a name that the object already has.
  private mutating func readText(_ text: ArraySlice<UInt8>, _ unescape: (String) -> String?) -> Bool {
    guard let frame = frames.last, frame.isObject, frame.expectsName else { return true }
    let plain = String(decoding: text, as: UTF8.self)
    let name = text.contains(UInt8(ascii: "\\")) ? unescape(plain) ?? plain : plain
    frames[frames.count - 1].key = AnyKey(stringValue: name)
    return frames[frames.count - 1].names.insert(name).inserted
  }
}

/// A place in any JSON value: a member by its name, or an element by its index.
package struct AnyKey: CodingKey {
  package var stringValue: String
  package var intValue: Int?
  package init(stringValue: String) { self.stringValue = stringValue }
  package init(intValue: Int) { (self.intValue, stringValue) = (intValue, "\(intValue)") }
}
