// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import LastroWire

/// The machine, compared with a reader that has the whole message in memory.
@Suite("Multipart messages, parsed in two ways", .ownThread)
struct MultipartFuzzTests {
  private typealias Outcome = MultipartMachineTests.Outcome

  /// The fragments that messages are built from.
  private static let fragments = [
    "--b\r\n", "--b--", "\r\n--b\r\n", "\r\n--b--", "\r\n--b--\r\n", "\r\n--b \r\n", "--bX", "\r\n--bX\r\n", "\r\n",
    "\r",
    "\n", "-", "--", "b", "A: b\r\n", " fold\r\n", "no colon\r\n", "text", "\r\n\r\n", "\r\n--", "--b\n",
    "\r\n--b-\r\n",
  ].map { Array($0.utf8) }

  @Test("40 messages give the same parts in chunks of 1 to 70 bytes")
  func chunks() throws {
    var random = Random(state: 1)
    for number in 0..<40 {
      let (message, bodies) = Self.message(&random)
      let whole = try MultipartMachineTests.read(message)
      #expect(whole.violation == nil && whole.parts.map(\.body) == bodies, "message \(number)")
      for size in 1...70 {
        #expect(try MultipartMachineTests.read(message, chunk: size) == whole, "message \(number), chunks of \(size)")
      }
    }
  }

  @Test("40,000 random texts are parsed as by the second parser, or refused for the same reason")
  func fuzz() throws {
    var random = Random(state: 2)
    var outcomes: [String: Int] = [:]
    for number in 0..<40_000 {
      var message = random.next(2) == 0 ? Array("--b\r\n\r\n".utf8) : []
      for _ in 0..<random.next(14) { message += Self.fragments[random.next(Self.fragments.count)] }
      let expected = SecondReader(message).read()
      let chunk = [1, 2, 3, 7, .max][random.next(5)]
      let read = try MultipartMachineTests.read(message, chunk: chunk)
      #expect(
        read == expected,
        "text \(number), chunks of \(chunk): \(String(decoding: message, as: UTF8.self).debugDescription)")
      outcomes["\(expected.violation.map { "\($0)" } ?? "whole")", default: 0] += 1
    }
    // The fragments reach every possible end.
    for end in ["whole", "truncated", "bareLineFeed", "field"] {
      #expect(outcomes[end, default: 0] > 100, "\(outcomes)")
    }
  }

  private static func message(_ random: inout Random) -> ([UInt8], [[UInt8]]) {
    let pieces = ["\r\n", "\r", "\n", "--", "-", "--bX", "\r\n--b0", "text", " "].map { Array($0.utf8) }
    func text(_ count: Int, _ random: inout Random) -> [UInt8] {
      (0..<count).flatMap { _ in pieces[random.next(pieces.count)] }
    }
    var message: [UInt8] = random.next(3) == 0 ? Array("preamble\r\n".utf8) : []
    var bodies: [[UInt8]] = []
    for index in 0..<random.next(5) {
      // The last line of the text is not a delimiter, whatever follows it.
      let body = text(random.next(40), &random) + Array("end".utf8)
      message += Array("\(index == 0 ? "" : "\r\n")--b\(random.next(4) == 0 ? " \t" : "")\r\nA: b\r\n\r\n".utf8) + body
      bodies.append(body)
    }
    message += Array((bodies.isEmpty ? "--b--" : "\r\n--b--").utf8)
    if random.next(2) == 0 { message += text(10, &random) }
    return (message, bodies)
  }
}

/// A reader that checks one line start after another.
private struct SecondReader {
  private enum Line { case delimiter(Int), close, bare, other }

  private let bytes: [UInt8]
  private var outcome = MultipartMachineTests.Outcome()

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  func read() -> MultipartMachineTests.Outcome {
    var reader = self
    var start = 0
    var part: MultipartMachineTests.Part?
    while true {
      guard let (bodyEnd, line) = reader.nextDelimiter(from: start) else {
        reader.outcome.violation = .truncated
        return reader.outcome
      }
      if case .bare = line {
        reader.outcome.violation = .bareLineFeed
        return reader.outcome
      }
      if var ended = part {
        ended.body = Array(bytes[start..<max(start, bodyEnd)])
        reader.outcome.parts.append(ended)
      }
      guard case .delimiter(let headStart) = line else { return reader.outcome }
      guard let (fields, bodyStart) = reader.head(from: headStart) else { return reader.outcome }
      part = MultipartMachineTests.Part(fields: fields)
      start = bodyStart
    }
  }

  /// Returns the end of the text before the next delimiter, and the kind of that delimiter.
  private func nextDelimiter(from start: Int) -> (Int, Line)? {
    var lines = [(start, start)]
    for index in bytes.indices.dropLast() where index >= start && bytes[index] == 13 && bytes[index + 1] == 10 {
      lines.append((index, index + 2))
    }
    for (end, line) in lines {
      let found = self.line(at: line)
      if case .other = found { continue }
      return (end, found)
    }
    return nil
  }

  private func line(at start: Int) -> Line {
    let text = String(decoding: bytes[start...], as: UTF8.self).unicodeScalars
    guard text.starts(with: "--b".unicodeScalars) else { return .other }
    let rest = text.dropFirst(3)
    if rest.starts(with: "--".unicodeScalars) { return .close }
    let blanks = rest.prefix { $0 == " " || $0 == "\t" }.count
    let end = rest.dropFirst(blanks)
    if end.starts(with: "\r\n".unicodeScalars) { return .delimiter(start + 3 + blanks + 2) }
    return end.first == "\n" ? .bare : .other
  }

  private mutating func head(from start: Int) -> ([ResponseHead.Field], Int)? {
    var at = start
    var lines: [String] = []
    while let feed = bytes[at...].firstIndex(of: 10) {
      guard feed > at, bytes[feed - 1] == 13 else {
        outcome.violation = .bareLineFeed
        return nil
      }
      let line = String(decoding: bytes[at..<feed - 1], as: UTF8.self)
      at = feed + 1
      if line.isEmpty {
        let fields = lines.map { $0.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false) }
        let isValid =
          fields.allSatisfy { $0.count == 2 && !$0[0].isEmpty && $0[0].allSatisfy { "Abtextold-X".contains($0) } }
          && !lines.contains { $0.contains("\r") }
        if !isValid { outcome.violation = .field }
        return isValid
          ? (fields.map { ResponseHead.Field(name: String($0[0]), value: String($0[1].drop { $0 == " " })) }, at) : nil
      }
      if line.hasPrefix(" ") {
        guard let last = lines.popLast() else {
          outcome.violation = .field
          return nil
        }
        lines.append(last + line)
      } else {
        lines.append(line)
      }
    }
    outcome.violation = .truncated
    return nil
  }
}

/// A generator that yields the same numbers in each run.
private struct Random {
  var state: UInt64

  mutating func next(_ bound: Int) -> Int {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return Int((state >> 33) % UInt64(bound))
  }
}
