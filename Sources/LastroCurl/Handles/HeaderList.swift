// SPDX-License-Identifier: Apache-2.0

internal import CLastro

#if canImport(Glibc)
  internal import Glibc
#endif

/// Owns a `curl_slist`, which must outlive the transfer that uses it.
struct HeaderList: ~Copyable {
  private(set) var head: UnsafeMutablePointer<curl_slist>?
  private var last: UnsafeMutablePointer<curl_slist>?

  /// Adds a line. False when memory ran out; the list is unchanged then.
  mutating func append(_ first: String, _ separator: StaticString = "", _ second: String = "") -> Bool {
    let line = Self.withCharacters(first) { first in
      Self.withCharacters(second) { second in
        separator.withCharacters { separator in
          clastro_make_line(first.baseAddress, first.count, separator, second.baseAddress, second.count)
        }
      }
    }
    guard let line else { return false }
    if let last { last.pointee.next = line } else { head = line }
    last = line
    return true
  }

  private static func withCharacters<R>(_ text: String, _ body: (UnsafeBufferPointer<CChar>) -> R) -> R {
    var text = text
    return text.withUTF8 { bytes in bytes.withMemoryRebound(to: CChar.self, body) }
  }

  deinit {
    var next = head
    while let line = next {
      next = line.pointee.next
      free(line)
    }
  }
}

extension StaticString {
  fileprivate func withCharacters<R>(_ body: (UnsafePointer<CChar>) -> R) -> R {
    utf8Start.withMemoryRebound(to: CChar.self, capacity: utf8CodeUnitCount + 1, body)
  }
}
