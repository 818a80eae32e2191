// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroWire

/// Reads JSON texts by either framing.
enum JSONTextReader: Sendable {
  case lines(JSONLinesMachine)
  case sequence(JSONTextSequenceMachine)

  init(_ options: JSONStreamOptions) {
    switch options.framing {
    case .lines: self = .lines(JSONLinesMachine(maximumTextBytes: options.maximumTextBytes))
    case .textSequence: self = .sequence(JSONTextSequenceMachine(maximumTextBytes: options.maximumTextBytes))
    }
  }

  mutating func feed(_ bytes: [UInt8]) {
    switch self {
    case .lines(var machine):
      machine.feed(bytes)
      self = .lines(machine)
    case .sequence(var machine):
      machine.feed(bytes)
      self = .sequence(machine)
    }
  }

  /// - Parameter isAtEnd: whether the bytes have ended, so that what is left is the last text.
  mutating func next(isAtEnd: Bool) throws(JSONTextViolation) -> [UInt8]? {
    switch self {
    case .lines(var machine):
      defer { self = .lines(machine) }
      if let text = try machine.next() { return text }
      return isAtEnd ? machine.finish() : nil
    case .sequence(var machine):
      defer { self = .sequence(machine) }
      if let text = try machine.next() { return text }
      return isAtEnd ? try machine.finish() : nil
    }
  }
}

extension TransportError {
  static func unreadable(_ violation: JSONTextViolation) -> Self {
    switch violation {
    case .tooLong(let limit):
      Self(
        stage: .limit, code: .eventTooLarge, message: "a JSON text of the stream is longer than \(limit) bytes",
        hint: "raise JSONStreamOptions.maximumTextBytes, or look whether the framing is another", requestSent: true)
    case .truncated:
      Self(
        stage: .response, code: .truncatedStream, message: "a text of the JSON sequence is cut; RFC 7464 §2.4",
        hint: "take what came as a part, and ask again if that is safe", requestSent: true)
    case .outsideOfText:
      Self(
        stage: .response, code: .protocolViolation,
        message: "the JSON sequence has bytes without a record separator before them; RFC 7464 §2.2",
        hint: "look whether the framing is that of lines", requestSent: true)
    }
  }
}
