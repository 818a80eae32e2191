// SPDX-License-Identifier: Apache-2.0

/// Parses a head by its differences from a known one. This does not affect the result, only the cost: lines that cannot
/// be handled this way are parsed as usual.
extension ResponseHeadMachine {
  mutating func begin(resembling latest: KnownHead?) {
    known = latest
    lineCount = 0
    likeness = latest == nil ? .none : .same
    changes = []
    if lines.hasBegun { lines = KnownLines() }
  }

  /// Skips whole lines that equal those of the known head.
  ///
  /// - Parameters:
  ///   - position: the beginning of a line.
  ///   - latest: the known head, the same for all lines of a head.
  /// - Returns: the head, if it ends at the new position.
  mutating func skip(
    in bytes: UnsafeRawBufferPointer, at position: inout Int, resembling latest: KnownHead
  ) throws(HeadViolation) -> ResponseHead? {
    if case .statusLine = state { begin(resembling: latest) }
    guard likeness != .none else { return nil }
    let found = latest.lines.match(UnsafeRawBufferPointer(rebasing: bytes[position...]), from: lineCount)
    // Near a limit, check line by line.
    guard found.bytes > 0, self.bytes + found.bytes <= maximumHeadBytes, lineCount + found.lines - 1 <= maximumFields
    else { return nil }
    self.bytes += found.bytes
    position += found.bytes
    advance(by: found.lines, in: latest)
    return found.isWhole ? try finish(latest) : nil
  }

  /// Handles a line that differs from the known head's at this position. Returns `nil` if it has to be parsed as usual.
  mutating func follow(_ known: KnownHead, _ line: UnsafeRawBufferPointer) throws(HeadViolation) -> Event? {
    if lineCount <= maximumFields {
      if lineCount == known.lineCount {
        if Self.isEmpty(line) { return .final(try finish(known)) }
      } else if lineCount > 0, !Self.isEmpty(line), !Self.isFold(line), try patch(known, with: line) {
        return .needsMore
      }
    }
    depart(from: known)
    return nil
  }

  private mutating func advance(by count: Int, in known: KnownHead) {
    beginFields(of: known)
    lineCount += count
  }

  /// Starts the fields after a status line that equals the known head's.
  mutating func beginFields(of known: KnownHead) {
    majorVersion = known.head.version.major
    state = .fields
  }

  /// Replaces a line of the known head. Returns whether that was possible.
  private mutating func patch(_ known: KnownHead, with line: UnsafeRawBufferPointer) throws(HeadViolation) -> Bool {
    guard let field = try Self.field(try Self.withoutLineEnd(line)) else { return false }
    if likeness == .same {
      (head, lines) = (known.head, known.lines)
      likeness = .patched
    }
    guard lines.replace(at: lineCount, with: line) else { return false }
    let index = lineCount - 1
    changes.formUnion(KnownHead.meaning(of: field.name))
    changes.formUnion(KnownHead.meaning(of: head.fields[index].name))
    head.fields[index] = field
    lineCount += 1
    return true
  }

  /// Stops comparing with the known head, and keeps only its part that has been received.
  private mutating func depart(from known: KnownHead) {
    switch likeness {
    case .none: return
    case .same: if lineCount > 0 { (head, lines) = known.beginning(lineCount) }
    case .patched:
      head.fields.removeLast(head.fields.count - max(0, lineCount - 1))
      lines = lines.prefix(lineCount)
    }
    likeness = .none
  }

  /// Ends a head that has as many lines as the known one.
  private mutating func finish(_ known: KnownHead) throws(HeadViolation) -> ResponseHead {
    let isPatched = likeness == .patched
    framing = isPatched && changes.contains(.framing) ? try ResponseFraming(head, to: request) : known.framing
    status = known.head.status
    state = .trailers
    likeness = .none
    guard isPatched else { return known.head }
    let isPersistent = changes.contains(.persistence) ? head.isPersistent : known.isPersistent
    self.known =
      changes.contains(.secret) || !mayBeKept
      ? nil : KnownHead(head, framing: framing, isPersistent: isPersistent, lines: lines)
    lines = KnownLines()
    defer { head.fields = [] }
    return head
  }
}
