// SPDX-License-Identifier: Apache-2.0

import Foundation
package import Lastro
package import Testing

/// Waits until other tasks, threads or processes make a condition true.
///
/// It polls the condition for a minute, or longer on a busy machine, because it counts polls rather than time.
///
/// - Returns: false if the condition is still not true, or if the task is cancelled.
package func eventually(_ condition: () async throws -> Bool) async rethrows -> Bool {
  for look in 0..<13_000 {
    if try await condition() { return true }
    if look < 1_000 { await Task.yield() } else { try? await Task.sleep(for: .milliseconds(5)) }
    if Task.isCancelled { break }
  }
  return try await condition()
}

/// Waits at most a minute until a value has stayed the same for twenty polls at intervals of 10 ms.
///
/// Use it where no event signals that activity has stopped.
///
/// - Returns: the value at the last poll.
package func valueAtRest<Value: Equatable>(_ value: () -> Value) async -> Value {
  var last = value()
  var quiet = 0
  for _ in 0..<6_000 where quiet < 20 && !Task.isCancelled {
    try? await Task.sleep(for: .milliseconds(10))
    let now = value()
    quiet = now == last ? quiet + 1 : 0
    last = now
  }
  return last
}

extension TransportError {
  /// The stage and code in the notation of logs, such as `timeout/idle_timeout`.
  package var words: String { "\(stage.rawValue)/\(code)" }
}

extension HTTPFetchError {
  /// The stage and code in the notation of logs, such as `timeout/idle_timeout`.
  package var words: String { "\(stage.rawValue)/\(code)" }
}

/// Returns the stage and code of the error that an operation of a stream throws, or a description of its result if it
/// throws no error.
package func words<Value>(_ operation: () async throws -> Value) async -> String {
  do {
    return "no error: \(try await operation())"
  } catch let error as TransportError {
    return error.words
  } catch {
    return "\(error)"
  }
}

/// Returns the error that an operation of a stream throws.
package func transportError<Value>(
  sourceLocation: SourceLocation = #_sourceLocation, _ operation: () async throws -> Value
) async throws -> TransportError {
  try await #require(throws: TransportError.self, sourceLocation: sourceLocation) { _ = try await operation() }
}

/// An error that tests throw on purpose.
package struct TestError: Error, Equatable {
  package var name: String

  package init(name: String = "test") { self.name = name }
}

/// An error that says why a test cannot continue.
package struct TestFailure: Error {
  package var message: String

  package init(_ message: String) { self.message = message }
}

/// The share of cases to run in tests with thousands of random or similar cases. By default all cases run. Before a
/// change is merged, and under a sanitizer, where a case takes ten times as long, one of every `SEED_STRIDE` cases
/// runs. `.ci/run` and `.ci/test` set `SEED_STRIDE`.
package enum SeedStride {
  package static let value = max(1, ProcessInfo.processInfo.environment["SEED_STRIDE"].flatMap { Int($0) } ?? 1)

  /// Returns the first of every ``value`` cases.
  package static func some<Case>(of cases: [Case]) -> [Case] {
    cases.enumerated().filter { $0.offset % value == 0 }.map(\.element)
  }
}

/// A random number generator (SplitMix64) that produces the same numbers for the same seed.
package struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64

  package init(seed: UInt64) { state = seed }

  package mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var value = state
    value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
    value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
    return value ^ (value >> 31)
  }
}

/// A writer of dates in the three header field formats of RFC 9110 §5.6.7. It uses Foundation's calendar rather than
/// the code under test.
package enum WrittenDate {
  package enum Format: CaseIterable, Sendable { case fixdate, rfc850, asctime }

  package static func text(_ seconds: Int64, _ format: Format = .fixdate) -> String {
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = .gmt
    let date = Date(timeIntervalSince1970: Double(seconds))
    let parts = calendar.dateComponents([.year, .month, .day, .hour, .minute, .second, .weekday], from: date)
    let year = parts.year ?? 0
    let month = months[(parts.month ?? 1) - 1]
    let weekday = weekdays[(parts.weekday ?? 1) - 1]
    let day = two(parts.day)
    let time = "\(two(parts.hour)):\(two(parts.minute)):\(two(parts.second))"
    switch format {
    case .fixdate: return "\(weekday.prefix(3)), \(day) \(month) \(four(year)) \(time) GMT"
    case .rfc850: return "\(weekday), \(day)-\(month)-\(two(year % 100)) \(time) GMT"
    case .asctime:
      let padded = day.hasPrefix("0") ? " " + day.dropFirst() : day
      return "\(weekday.prefix(3)) \(month) \(padded) \(time) \(four(year))"
    }
  }

  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]
  private static let weekdays = [
    "Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday",
  ]

  private static func two(_ value: Int?) -> String { String(String((value ?? 0) + 100).suffix(2)) }

  private static func four(_ value: Int) -> String { String(String(value + 10_000).suffix(4)) }
}

/// The notations in which a server may echo a secret.
package enum SecretNotation {
  /// Returns the text in every notation that the tests use, with the name of the notation.
  package static func all(of text: String) -> [(name: String, text: String)] {
    let bytes = Array(text.utf8)
    let everything = bytes.map { byte in "%" + hex(byte, upper: true) }.joined()
    // Compare bytes: a combining mark and the quote form one `Character`.
    let quoted = String(decoding: ((try? JSONEncoder().encode(text)) ?? Data()).dropFirst().dropLast(), as: UTF8.self)
    let plainSlashes = quoted.replacing("\\/", with: "/")
    let ascii = plainSlashes.unicodeScalars.map { scalar in
      scalar.isASCII
        ? String(scalar)
        : String(scalar).utf16.map { "\\u" + hex(UInt8($0 >> 8), upper: false) + hex(UInt8($0 & 255), upper: false) }
          .joined()
    }
    let encoded = text.percentEncoded(keeping: .unreserved)
    let form = text.percentEncoded(keeping: ByteSet.form.union(ByteSet(" "))).replacing(" ", with: "+")
    let base64 = Data(bytes).base64EncodedString()
    return [
      ("as it is", text), ("percent-encoded", encoded), ("percent-encoded, lower case", lowerCaseEscapes(encoded)),
      ("percent-encoded in full", everything), ("percent-encoded twice", encoded.percentEncoded(keeping: .unreserved)),
      ("as in a path", text[...].sanitized(keeping: .path)), ("as in a form", form), ("JSON", quoted),
      ("JSON without escaped slashes", plainSlashes), ("JSON in ASCII", ascii.joined()),
      ("JSON in JSON", String(decoding: (try? JSONEncoder().encode(plainSlashes)) ?? Data(), as: UTF8.self)),
      ("escaped for display", text.escapedForDisplay), ("base64", base64),
      ("base64url", base64.replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")),
      ("base64 of ann:", Data(("ann:" + text).utf8).base64EncodedString()),
      ("base64 of anna:", Data(("anna:" + text).utf8).base64EncodedString()),
      ("base64 of maria: and more", Data(("maria:" + text + "more").utf8).base64EncodedString()),
      ("base64, percent-encoded", base64.percentEncoded(keeping: .unreserved)), ("HTML", html(text)),
    ]
  }

  private static func hex(_ byte: UInt8, upper: Bool) -> String {
    let digits = String(byte, radix: 16, uppercase: upper)
    return digits.count == 1 ? "0" + digits : digits
  }

  /// Returns the text with its percent-encoding in lower case.
  package static func lowerCaseEscapes(_ text: String) -> String {
    text.replacing(/%[0-9A-F]{2}/) { $0.output.lowercased() }
  }

  private static func html(_ text: String) -> String {
    text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing("\"", with: "&quot;")
      .replacing("'", with: "&#39;")
  }
}
