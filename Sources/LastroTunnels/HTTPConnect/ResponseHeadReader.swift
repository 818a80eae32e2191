// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroWire

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// Reads a response head out of bytes that come in any pieces, and keeps what follows it.
struct ResponseHeadReader {
  private static let maximumHeadBytes = 64 * 1024
  private var machine = ResponseHeadMachine(
    maximumHeadBytes: Self.maximumHeadBytes, maximumFields: 200, maximumInterimResponses: 8)
  /// What is not read yet; after the head, what follows it.
  private(set) var rest = Data()
  /// How much of `rest` is known to have no line end.
  private var searched = 0

  /// How the body is delimited; known once the head was given.
  var framing: ResponseFraming { machine.framing }

  /// Takes more bytes; gives the final head when it is complete. Interim responses are dropped.
  mutating func consume(_ bytes: Data) throws(HeadViolation) -> ResponseHead? {
    rest.append(bytes)
    while let end = rest.dropFirst(searched).firstIndex(of: 0x0A) {
      let line = [UInt8](rest[rest.startIndex...end])
      rest = Data(rest[(end + 1)...])
      searched = 0
      if case .final(let head) = try consume(line: line) { return head }
    }
    searched = rest.count
    guard searched <= Self.maximumHeadBytes else {
      throw HeadViolation(.headTooLarge, "the response head exceeds \(Self.maximumHeadBytes) bytes")
    }
    return nil
  }

  private mutating func consume(line: [UInt8]) throws(HeadViolation) -> ResponseHeadMachine.Event {
    var machine = machine
    let result: Result<ResponseHeadMachine.Event, HeadViolation> = line.withUnsafeBytes { line in
      do throws(HeadViolation) { return .success(try machine.consume(line: line)) } catch { return .failure(error) }
    }
    self.machine = machine
    return try result.get()
  }
}
