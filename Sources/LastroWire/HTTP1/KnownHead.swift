// SPDX-License-Identifier: Apache-2.0

/// A head that was accepted, with its bytes: of a line that comes again in the same place, the verdict and the text are
/// known. A server's answers are much alike.
///
/// What a line means follows from its bytes and from whether it is the first, except for a folded one, which changes the
/// line before it. So a head with folds is not kept, and no line of a kept head is one. What follows from the lines
/// together, ``ResponseFraming``, is taken over only when all of them are the same.
///
/// At most 32 lines and 4 KiB: an unusual head is not worth its memory. None that sets cookies: they are secrets, and not
/// the same next time.
package final class KnownHead: Sendable {
  private static let maximumLines = 32
  private static let maximumBytes = 4_096

  package let head: ResponseHead
  let framing: ResponseFraming
  private let lines: Lines

  /// The lines of a head, with their ends, as far as they have come.
  struct Lines {
    private var bytes: [UInt8] = []
    /// Where each line ends.
    private var ends: [Int] = []
    private var isTooLarge = false

    var count: Int { ends.count }

    mutating func append(_ line: UnsafeRawBufferPointer) {
      guard !isTooLarge else { return }
      guard ends.count < maximumLines, bytes.count + line.count <= maximumBytes else {
        self = Lines()
        isTooLarge = true
        return
      }
      if ends.isEmpty {
        bytes.reserveCapacity(512)
        ends.reserveCapacity(16)
      }
      bytes.append(contentsOf: line)
      ends.append(bytes.count)
    }

    /// The first `count` lines.
    func prefix(_ count: Int) -> Lines {
      var result = self
      let end = count == 0 ? 0 : ends[count - 1]
      result.bytes.removeLast(bytes.count - end)
      result.ends.removeLast(ends.count - count)
      return result
    }

    /// Whether `line` is the one at `index`, byte for byte.
    func hasLine(_ line: UnsafeRawBufferPointer, at index: Int) -> Bool {
      guard index < ends.count else { return false }
      let start = index == 0 ? 0 : ends[index - 1]
      guard ends[index] - start == line.count else { return false }
      return bytes.withUnsafeBytes { known in
        // By eight bytes at a time, then one by one.
        var offset = 0
        while offset + 8 <= line.count {
          guard
            known.loadUnaligned(fromByteOffset: start + offset, as: UInt64.self)
              == line.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
          else { return false }
          offset += 8
        }
        while offset < line.count {
          guard known[start + offset] == line[offset] else { return false }
          offset += 1
        }
        return true
      }
    }
  }

  /// `nil` for a head that is too large, or whose lines are not its fields one to one.
  init?(_ head: ResponseHead, framing: ResponseFraming, lines: Lines) {
    guard lines.count == head.fields.count + 1, !head.fields.contains(where: Self.setsCookie) else { return nil }
    self.head = head
    self.framing = framing
    self.lines = lines
  }

  private static func setsCookie(_ field: ResponseHead.Field) -> Bool {
    field.name.utf8.count == 10 && field.name.lowercased() == "set-cookie"
  }

  var lineCount: Int { lines.count }

  func hasLine(_ line: UnsafeRawBufferPointer, at index: Int) -> Bool { lines.hasLine(line, at: index) }

  /// The head as it was after the first `count` lines, and those lines.
  func beginning(_ count: Int) -> (ResponseHead, Lines) {
    var head = head
    head.fields.removeLast(head.fields.count - max(0, count - 1))
    return (head, lines.prefix(count))
  }
}
