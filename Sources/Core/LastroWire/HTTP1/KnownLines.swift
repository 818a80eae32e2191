// SPDX-License-Identifier: Apache-2.0

/// The lines of a head received so far, with their line ends.
struct KnownLines: Equatable {
  private static let maximumLines = 32
  private static let maximumBytes = 4_096
  private static let lineEnd: [UInt8] = [0x0D, 0x0A]

  private var bytes: [UInt8] = []
  /// The end position of each line.
  private var ends: [Int] = []
  private var isTooLarge = false

  var count: Int { ends.count }
  var hasBegun: Bool { isTooLarge || !ends.isEmpty }

  mutating func append(_ line: UnsafeRawBufferPointer) {
    guard !isTooLarge else { return }
    guard ends.count < Self.maximumLines, bytes.count + line.count <= Self.maximumBytes else { return giveUp() }
    if ends.isEmpty {
      bytes.reserveCapacity(512)
      ends.reserveCapacity(16)
    }
    bytes.append(contentsOf: line)
    ends.append(bytes.count)
  }

  /// Replaces the line at `index`. Returns false if the result would be too large.
  mutating func replace(at index: Int, with line: UnsafeRawBufferPointer) -> Bool {
    let start = start(of: index)
    let growth = line.count - (ends[index] - start)
    guard bytes.count + growth <= Self.maximumBytes else { return false }
    if growth == 0 {
      bytes.withUnsafeMutableBytes { UnsafeMutableRawBufferPointer(rebasing: $0[start...]).copyMemory(from: line) }
    } else {
      bytes.replaceSubrange(start..<ends[index], with: line)
      for later in index..<ends.count { ends[later] += growth }
    }
    return true
  }

  /// Drops all lines, and ignores later ones.
  mutating func giveUp() {
    self = KnownLines()
    isTooLarge = true
  }

  /// Returns the first `count` lines.
  func prefix(_ count: Int) -> KnownLines {
    var result = self
    result.bytes.removeLast(bytes.count - start(of: count))
    result.ends.removeLast(ends.count - count)
    return result
  }

  /// Returns the lines followed by an empty line, which is not counted.
  func ended() -> KnownLines {
    var result = self
    result.bytes += Self.lineEnd
    return result
  }

  private func start(of index: Int) -> Int { index == 0 ? 0 : ends[index - 1] }

  /// Returns whether `line` equals the line at `index`, byte for byte.
  func hasLine(_ line: UnsafeRawBufferPointer, at index: Int) -> Bool {
    guard index < ends.count else { return false }
    let start = start(of: index)
    guard ends[index] - start == line.count else { return false }
    return bytes.withUnsafeBytes {
      line.commonPrefix(UnsafeRawBufferPointer(rebasing: $0[start..<start + line.count])) == line.count
    }
  }

  /// Returns the number of whole lines from `index` on that `bytes` matches, and their size. `isWhole` means that all
  /// remaining lines and the empty line after them match.
  func match(_ bytes: UnsafeRawBufferPointer, from index: Int) -> (lines: Int, bytes: Int, isWhole: Bool) {
    let start = start(of: index)
    let total = self.bytes.count
    let reached = self.bytes.withUnsafeBytes {
      start + bytes.commonPrefix(UnsafeRawBufferPointer(rebasing: $0[start...]))
    }
    if reached == total { return (ends.count - index, total - start, true) }
    return ends.withUnsafeBufferPointer { ends in
      var next = index
      while next < ends.count, ends[next] <= reached { next += 1 }
      return (next - index, next == index ? 0 : ends[next - 1] - start, false)
    }
  }
}
