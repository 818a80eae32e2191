// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroWire

/// Reads JSON texts by either framing. The received part of a text stays in the machine's buffer: copying it for each
/// new piece would take quadratic time.
struct JSONTextReader: Sendable {
  private var lines: JSONLinesMachine?
  private var sequence: JSONTextSequenceMachine?

  init(_ options: JSONStreamOptions) {
    switch options.framing {
    case .lines: lines = JSONLinesMachine(maximumTextBytes: options.maximumTextBytes)
    case .textSequence: sequence = JSONTextSequenceMachine(maximumTextBytes: options.maximumTextBytes)
    }
  }

  mutating func feed(_ bytes: [UInt8]) {
    lines?.feed(bytes)
    sequence?.feed(bytes)
  }

  /// - Parameter isAtEnd: whether the bytes have ended, so that the rest is the last text.
  mutating func next(isAtEnd: Bool) throws(JSONTextViolation) -> [UInt8]? {
    if let text = try lines?.next() { return text }
    if let text = try sequence?.next() { return text }
    guard isAtEnd else { return nil }
    return if lines == nil { try sequence?.finish() } else { lines?.finish() }
  }
}

extension TransportError {
  static func unreadable(_ violation: JSONTextViolation) -> Self {
    switch violation {
    case .tooLong(let limit):
      Self(
        stage: .limit, code: .eventTooLarge,
        message: "a JSON text of the stream is longer than \(limit.counted("byte"))",
        hint: "raise maximumTextBytes, or check whether the texts are framed in the other way",
        requestSent: true)
    case .truncated:
      Self(
        stage: .response, code: .truncatedStream, message: "a text of the JSON sequence is truncated; RFC 7464 §2.4",
        hint: "treat the received part as incomplete, and fetch again if that is safe", requestSent: true)
    case .outsideOfText:
      Self(
        stage: .response, code: .protocolViolation,
        message: "the JSON sequence has bytes without a record separator before them; RFC 7464 §2.2",
        hint: "check whether the texts are framed by lines", requestSent: true)
    }
  }
}
