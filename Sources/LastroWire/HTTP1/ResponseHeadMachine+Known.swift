// SPDX-License-Identifier: Apache-2.0

/// Reading a head by what differs from a known one. It changes no verdict, only what it costs: what it does not take
/// is read as if there were no known head.
extension ResponseHeadMachine {
  mutating func begin(resembling latest: KnownHead?) {
    known = latest
    lineCount = 0
    likeness = latest == nil ? .none : .same
    changes = []
    if lines.hasBegun { lines = KnownLines() }
  }

  /// Passes over whole lines that are the known head's.
  ///
  /// - Parameters:
  ///   - position: where a line begins.
  ///   - latest: the same for all of a head.
  /// - Returns: the head, where it ends there.
  mutating func skip(
    in bytes: UnsafeRawBufferPointer, at position: inout Int, resembling latest: KnownHead
  ) throws(HeadViolation) -> ResponseHead? {
    if case .statusLine = state { begin(resembling: latest) }
    guard likeness != .none else { return nil }
    let found = latest.lines.match(UnsafeRawBufferPointer(rebasing: bytes[position...]), from: lineCount)
    // Where a limit is near, it is held against each line.
    guard found.bytes > 0, self.bytes + found.bytes <= maximumHeadBytes, lineCount + found.lines - 1 <= maximumFields
    else { return nil }
    self.bytes += found.bytes
    position += found.bytes
    advance(by: found.lines, in: latest)
    return found.isWhole ? try finish(latest) : nil
  }

  /// Takes one line that is not the known head's in this place, if it can be taken so.
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

  /// The status line is the known head's.
  mutating func beginFields(of known: KnownHead) {
    majorVersion = known.head.version.major
    state = .fields
  }

  /// Puts a line in the place of the known head's. Whether that was possible.
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

  /// The head goes its own way: what is kept of the known one is what has come.
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

  /// The end of a head with as many lines as the known one.
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
