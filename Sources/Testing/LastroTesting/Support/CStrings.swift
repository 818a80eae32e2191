// SPDX-License-Identifier: Apache-2.0

import CLoopback

/// Copies of strings that live as long as this object, for C structures with pointers.
package final class CStrings {
  private var strings: [UnsafeMutableBufferPointer<CChar>] = []
  private var arrays: [UnsafeMutableBufferPointer<UnsafePointer<CChar>>] = []

  package init() {}

  deinit {
    for string in strings { string.deallocate() }
    for array in arrays { array.deallocate() }
  }

  package func copy(_ text: String) -> UnsafePointer<CChar> {
    let source = Array(text.utf8CString)
    let buffer = UnsafeMutableBufferPointer<CChar>.allocate(capacity: source.count)
    _ = buffer.initialize(from: source)
    strings.append(buffer)
    return UnsafePointer(buffer.baseAddress.unsafelyUnwrapped)
  }

  func copy(_ texts: [String]) -> UnsafePointer<UnsafePointer<CChar>>? {
    if texts.isEmpty { return nil }
    let buffer = UnsafeMutableBufferPointer<UnsafePointer<CChar>>.allocate(capacity: texts.count)
    _ = buffer.initialize(from: texts.map(copy))
    arrays.append(buffer)
    return UnsafePointer(buffer.baseAddress.unsafelyUnwrapped)
  }
}

/// A buffer in which a C call reports the reason for its failure.
package final class ErrorText {
  package let buffer: UnsafeMutablePointer<CChar>

  package init() {
    buffer = .allocate(capacity: Int(CLOOPBACK_ERROR_SIZE))
    buffer.initialize(repeating: 0, count: Int(CLOOPBACK_ERROR_SIZE))
  }

  deinit { buffer.deallocate() }

  package var text: String { String(cString: buffer) }
}
