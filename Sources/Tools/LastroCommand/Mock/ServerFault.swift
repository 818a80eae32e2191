// SPDX-License-Identifier: Apache-2.0

import Lastro

/// A fault of `mock` and `proxy`: `METHOD PATH: EFFECT [every N | first N | P%]`.
struct ServerFault: Sendable, Equatable {
  /// The treatment of a request.
  enum Effect: Sendable, Equatable {
    /// Responds with a status and an empty body.
    case status(Int)
    /// Waits before anything else.
    case delay(Duration)
    /// Closes the connection after a number of bytes of the body.
    case cut(Int)
    /// Resets the connection without a response.
    case reset
    /// Never responds.
    case hang
  }

  /// The selection among the requests that match.
  enum Frequency: Sendable, Equatable {
    case always
    /// Every nth request, beginning with request n.
    case every(Int)
    case first(Int)
    /// A share of the requests, from 0 to 1.
    case share(Double)
  }

  /// A text that cannot be parsed.
  struct Refusal: Error {
    let text: String
  }

  /// The method; `nil`: any.
  var method: String?
  /// The path, in which `*` stands for any text; `nil`: any.
  var path: String?
  var effect: Effect
  var frequency = Frequency.always

  func matches(_ method: String, _ path: String) -> Bool {
    (self.method ?? method) == method && (self.path.map { Self.matches(path, $0) } ?? true)
  }

  private static func matches(_ path: String, _ pattern: String) -> Bool {
    var pieces = pattern.split(separator: "*", omittingEmptySubsequences: false)
    guard pieces.count > 1, let last = pieces.popLast(), let first = pieces.first else { return path == pattern }
    guard path.hasPrefix(first) else { return false }
    var rest = path.dropFirst(first.count)
    for piece in pieces.dropFirst() where !piece.isEmpty {
      guard let found = rest.firstRange(of: piece) else { return false }
      rest = rest[found.upperBound...]
    }
    return rest.hasSuffix(last)
  }
}

extension ServerFault {
  /// Parses a rule such as `GET /orders/*: 503 every 3`.
  init(parsing text: String) throws(Refusal) {
    let refusal = Refusal(text: text)
    guard let colon = text.lastIndex(of: ":") else { throw refusal }
    let place = text[..<colon].split(separator: " ").map(String.init)
    guard (1...2).contains(place.count) else { throw refusal }
    method = place.count == 1 || place[0] == "*" ? nil : place[0].uppercased()
    let path = place[place.count - 1]
    guard path == "*" || path.hasPrefix("/") else { throw refusal }
    self.path = path == "*" ? nil : path

    var words = text[text.index(after: colon)...].split(separator: " ").map(String.init)[...]
    guard let first = words.popFirst() else { throw refusal }
    switch first {
    case "reset": effect = .reset
    case "hang": effect = .hang
    case "delay":
      guard let time = words.popFirst().flatMap(ReplayCommand.duration) else { throw refusal }
      effect = .delay(time)
    case "cut":
      guard let count = words.popFirst().flatMap(Self.bytes) else { throw refusal }
      effect = .cut(count)
    default:
      guard let status = Int(first), (200...599).contains(status) else { throw refusal }
      effect = .status(status)
    }
    guard let word = words.popFirst() else { return }
    if let share = Self.share(word) {
      frequency = .share(share)
    } else {
      guard let count = words.popFirst().flatMap({ Int($0) }), count > 0 else { throw refusal }
      switch word {
      case "every": frequency = .every(count)
      case "first": frequency = .first(count)
      default: throw refusal
      }
    }
    guard words.isEmpty else { throw refusal }
  }

  /// Parses a number of bytes, such as `100` or `10KiB`.
  static func bytes(_ text: String) -> Int? {
    for (unit, size) in [("KiB", 1 << 10), ("MiB", 1 << 20)] where text.hasSuffix(unit) {
      return Int(text.dropLast(3)).flatMap { (0...1 << 20).contains($0) ? $0 * size : nil }
    }
    return Int(text).flatMap { $0 >= 0 ? $0 : nil }
  }

  /// Parses a share, such as `5%`.
  static func share(_ text: String) -> Double? {
    guard text.hasSuffix("%"), let number = Double(text.dropLast()), (0...100).contains(number) else { return nil }
    return number / 100
  }
}
