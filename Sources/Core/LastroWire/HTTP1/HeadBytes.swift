// SPDX-License-Identifier: Apache-2.0

/// The bytes of a head that is being written. Its memory is reused for the next head.
struct HeadBytes {
  private var storage: [UInt8] = []
  private(set) var count = 0

  mutating func removeAll() { count = 0 }

  mutating func append(_ text: UnsafeRawBufferPointer) {
    write(text.count) { $0.copyMemory(from: text) }
  }

  /// Appends `name: value` and a line end.
  mutating func append(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
    write(name.count + value.count + 4) { space in
      let colon = name.count
      let end = colon + 2 + value.count
      space.copyMemory(from: name)
      (space[colon], space[colon + 1]) = (0x3A, 0x20)
      UnsafeMutableRawBufferPointer(rebasing: space[(colon + 2)...]).copyMemory(from: value)
      (space[end], space[end + 1]) = (0x0D, 0x0A)
    }
  }

  func withBytes<Result, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let count = count
    return try storage.withBytes { bytes throws(Failure) in try body(UnsafeRawBufferPointer(rebasing: bytes[..<count]))
    }
  }

  @inline(__always)
  private mutating func write(_ length: Int, _ fill: (UnsafeMutableRawBufferPointer) -> Void) {
    if storage.count < count + length {
      storage.append(contentsOf: repeatElement(0, count: max(512, storage.count, length)))
    }
    storage.withUnsafeMutableBytes { fill(UnsafeMutableRawBufferPointer(rebasing: $0[count..<count + length])) }
    count += length
  }
}
