// SPDX-License-Identifier: Apache-2.0

extension String {
  /// Calls `body` with the string's bytes. They are copied only in the rare case that they are not contiguous.
  @inline(__always)
  func withBytes<Result, Failure: Error>(
    _ body: (UnsafeBufferPointer<UInt8>) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let result = utf8.withContiguousStorageIfAvailable { bytes in
      Swift.Result { () throws(Failure) in try body(bytes) }
    }
    if let result { return try result.get() }
    return try Array(utf8).withUnsafeBufferPointer(body)
  }

  /// Returns whether all bytes satisfy the predicate.
  @inline(__always)
  func hasOnly(_ isAllowed: (UInt8) -> Bool) -> Bool {
    withBytes { bytes in
      for byte in bytes where !isAllowed(byte) { return false }
      return true
    }
  }

  /// Returns whether the string equals `text`, ignoring ASCII case. `text` must be lower-case ASCII.
  @inline(__always)
  package func isASCII(_ text: StaticString) -> Bool {
    // Few names have the same length as a relevant name.
    utf8.count == text.utf8CodeUnitCount && hasLetters(of: text)
  }

  /// Returns whether the letters match. Precondition: equal length.
  private func hasLetters(of text: StaticString) -> Bool {
    withBytes { bytes in
      for index in bytes.indices {
        let byte = bytes[index]
        guard byte | (byte &- 0x41 < 26 ? 0x20 : 0) == text.utf8Start[index] else { return false }
      }
      return true
    }
  }
}
