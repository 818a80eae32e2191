// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro
import LastroWire

/// A quota as reported by a server.
struct ServerQuota: Sendable, Hashable {
  /// The number of requests left.
  var left: Int
  /// The time until the quota is renewed.
  var reset: Duration
  /// The size of the quota, if the server sends it.
  var whole: Int?

  /// Keeps the part of one of several instances that send requests at the same pace.
  mutating func divide(by instances: Int) {
    left = (left + instances - 1) / instances
    whole = whole.map { ($0 + instances - 1) / instances }
  }
}

/// A parser for the rate-limit fields of responses.
enum RateLimitFields {
  /// Returns the most restrictive quota; `nil` if the fields contain none.
  ///
  /// `RateLimit` (draft-ietf-httpapi-ratelimit-headers) takes precedence over the older names. A field that violates
  /// its grammar is ignored as a whole.
  static func quota(_ fields: HTTPFields, sinceEpoch: @autoclosure () -> Duration) -> ServerQuota? {
    guard fields.contains(where: { mayTell($0.name) }) else { return nil }
    return current(fields) ?? older(fields, sinceEpoch())
  }

  /// Whether a field may contain a quota. Most responses have none, and this check avoids a search for each name.
  private static func mayTell(_ name: HTTPField.Name) -> Bool {
    switch name.canonicalName.utf8.first {
    case UInt8(ascii: "r"), UInt8(ascii: "x"): name.canonicalName.contains("ratelimit")
    default: false
    }
  }

  private static let longest: Int64 = 1_000_000_000

  private static func current(_ fields: HTTPFields) -> ServerQuota? {
    guard let text = text(of: "RateLimit", fields), let items = StructuredReader.list(text.utf8) else { return nil }
    let (wholes, others) = policies(of: fields)
    let quotas = items.compactMap { item -> ServerQuota? in
      guard case .string(let name) = item.value, !others.contains(name), let left = item.parameters["r"]?.count else {
        return nil
      }
      let reset = item.parameters["t"]?.count ?? 0
      return ServerQuota(left: left, reset: .seconds(min(Int64(reset), longest)), whole: wholes[name])
    }
    // A quota without a reset time expires at once, and must not hide another.
    return quotas.filter { $0.reset > .zero }.min { $0.room < $1.room } ?? quotas.first
  }

  /// Returns the quotas of `RateLimit-Policy` that count requests, by name, and the names of quotas in other units.
  private static func policies(of fields: HTTPFields) -> (wholes: [String: Int], others: Set<String>) {
    guard let text = text(of: "RateLimit-Policy", fields), let items = StructuredReader.list(text.utf8) else {
      return ([:], [])
    }
    var wholes: [String: Int] = [:], others: Set<String> = []
    for item in items {
      guard case .string(let name) = item.value else { continue }
      if (item.parameters["qu"] ?? .string("requests")) == .string("requests") {
        wholes[name] = item.parameters["q"]?.count
      } else {
        others.insert(name)
      }
    }
    return (wholes, others)
  }

  /// The field names of older drafts and of APIs: limit, remaining, reset.
  private static let names = [
    ["RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"],
    ["X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"],
    ["X-RateLimit-Limit-Requests", "X-RateLimit-Remaining-Requests", "X-RateLimit-Reset-Requests"],
  ]

  private static func older(_ fields: HTTPFields, _ sinceEpoch: Duration) -> ServerQuota? {
    let quotas = names.compactMap { names -> ServerQuota? in
      let texts = names.map { text(of: $0, fields) }
      guard let left = texts[1].flatMap(count), let reset = texts[2].flatMap({ wait($0, sinceEpoch) }) else {
        return nil
      }
      return ServerQuota(left: left, reset: reset, whole: texts[0].flatMap(count))
    }
    return quotas.min { $0.room < $1.room }
  }

  /// Parses seconds, seconds since 1970, or a duration such as `6m0s` or `250ms`.
  static func wait(_ text: String, _ sinceEpoch: Duration) -> Duration? {
    // No form has a sign.
    guard let first = text.utf8.first, first != UInt8(ascii: "+"), first != UInt8(ascii: "-") else { return nil }
    guard let number = Double(text) else { return spelled(text) }
    guard number.isFinite else { return nil }
    // More than thirty years can only be a date.
    let seconds = number > Double(longest) ? number - sinceEpoch.inSeconds : number
    return .seconds(min(max(seconds, 0), Double(longest)))
  }

  private static let units: [Substring: Double] = ["h": 3600, "m": 60, "s": 1, "ms": 0.001, "us": 1e-6, "µs": 1e-6]

  private static func spelled(_ text: String) -> Duration? {
    var rest = text[...]
    var total = 0.0
    while !rest.isEmpty {
      let digits = rest.prefix { $0.isASCII && $0.isNumber || $0 == "." }
      let unit = rest.dropFirst(digits.count).prefix { !($0.isASCII && $0.isNumber) }
      guard let number = Double(digits), let factor = units[unit] else { return nil }
      total += number * factor
      rest = rest.dropFirst(digits.count + unit.count)
    }
    return .seconds(min(total, Double(longest)))
  }

  private static func count(_ text: String) -> Int? {
    guard (1...15).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    return Int(text)
  }

  private static func text(of name: String, _ fields: HTTPFields) -> String? {
    HTTPField.Name(name).flatMap { fields[$0] }.map { String($0[...].withoutBlanks) }
  }
}

extension ServerQuota {
  /// The number of requests per second that the quota leaves. If a server sends several quotas, the one with the least
  /// applies.
  fileprivate var room: Double { Double(left) / max(reset.inSeconds, 1) }
}

extension StructuredValue {
  /// The value as a non-negative integer; `nil` if it is not one.
  fileprivate var count: Int? {
    if case .integer(let number) = self, number >= 0 { Int(number) } else { nil }
  }
}
