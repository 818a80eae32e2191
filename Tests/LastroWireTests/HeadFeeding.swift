// SPDX-License-Identifier: Apache-2.0

@testable import LastroWire

/// What a machine makes of a text that is handed over line by line, up to the final head or through all of it.
struct HeadFeeding {
  var events: [ResponseHeadMachine.Event] = []
  var violation: HeadViolation?
  var machine: ResponseHeadMachine

  init(
    lines: [[UInt8]], untilFinal: Bool = false, maximumHeadBytes: Int = 65_536, maximumFields: Int = 100,
    maximumInterimResponses: Int = 10, resembling known: KnownHead? = nil
  ) {
    machine = ResponseHeadMachine(
      maximumHeadBytes: maximumHeadBytes, maximumFields: maximumFields,
      maximumInterimResponses: maximumInterimResponses)
    for line in lines {
      do {
        let event = try line.withUnsafeBytes { try machine.consume(line: $0, resembling: known) }
        if event != .needsMore { events.append(event) }
        if untilFinal, case .final = event { return }
      } catch {
        violation = error as? HeadViolation
        return
      }
    }
  }

  init(
    _ bytes: some Collection<UInt8>, untilFinal: Bool = false, maximumHeadBytes: Int = 65_536, maximumFields: Int = 100,
    maximumInterimResponses: Int = 10, resembling known: KnownHead? = nil
  ) {
    self.init(
      lines: Self.lines(bytes), untilFinal: untilFinal, maximumHeadBytes: maximumHeadBytes,
      maximumFields: maximumFields, maximumInterimResponses: maximumInterimResponses, resembling: known)
  }

  /// Lines with their ends.
  static func lines(_ bytes: some Collection<UInt8>) -> [[UInt8]] {
    var rest = Array(bytes)[...]
    var lines: [[UInt8]] = []
    while !rest.isEmpty {
      let end = rest.firstIndex(of: 0x0A).map { $0 + 1 } ?? rest.endIndex
      lines.append(Array(rest[..<end]))
      rest = rest[end...]
    }
    return lines
  }

  init(_ text: String) { self.init(Array(text.utf8)) }

  var final: ResponseHead? {
    for case .final(let head) in events { return head }
    return nil
  }
}

extension HeadFeeding: Equatable {
  /// Whether both came to the same verdict, in every respect.
  static func == (lhs: Self, rhs: Self) -> Bool {
    lhs.events == rhs.events && lhs.violation == rhs.violation && lhs.machine.framing == rhs.machine.framing
      && lhs.machine.isHTTP2 == rhs.machine.isHTTP2
      && ["GET", "HEAD"].allSatisfy {
        lhs.machine.isCloseDelimited(method: $0) == rhs.machine.isCloseDelimited(method: $0)
      }
  }
}
