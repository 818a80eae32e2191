// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
internal import Lastro
internal import LastroWire

/// The dates of archives.
enum HARDate {
  /// Returns a date as ISO 8601 in UTC, with milliseconds. Years are limited to 0…9999.
  static func text(_ sinceEpoch: Duration) -> String {
    let limit: Int64 = 253_402_300_799
    let (whole, attoseconds) = sinceEpoch.components
    let seconds = min(max(whole, -62_167_219_200), limit)
    let (days, rest) = seconds.floored(by: 86_400)
    let (year, month, day) = HTTPDate.date(ofDay: days)
    let milliseconds = attoseconds < 0 ? 0 : attoseconds / 1_000_000_000_000_000
    return padded(year, 4) + "-" + padded(month, 2) + "-" + padded(day, 2) + "T" + padded(rest / 3_600, 2) + ":"
      + padded(rest / 60 % 60, 2) + ":" + padded(rest % 60, 2) + "." + padded(milliseconds, 3) + "Z"
  }

  private static func padded(_ number: Int64, _ digits: Int) -> String {
    let text = String(number)
    return String(repeating: "0", count: max(0, digits - text.utf8.count)) + text
  }
}

/// The queries of archives.
enum HARQuery {
  /// Returns the decoded items of a URL's query; `+` is a space.
  static func items(ofURL url: String) -> [HAR.Field] {
    guard let mark = url.utf8.firstIndex(of: UInt8(ascii: "?")) else { return [] }
    let query = url[url.utf8.index(after: mark)...].prefix { $0 != "#" }
    return query.split(separator: "&").map { item in
      let equals = item.firstIndex(of: "=") ?? item.endIndex
      return HAR.Field(name: decoded(item[..<equals]), value: decoded(item[equals...].dropFirst()))
    }
  }

  private static func decoded(_ text: Substring) -> String {
    let spaced = text.replacing("+", with: " ")
    return spaced.percentDecodedBytes.map { String(decoding: $0, as: UTF8.self) } ?? String(spaced)
  }
}

/// The cookies of archives.
enum HARCookies {
  /// Returns the cookies that a request sent.
  ///
  /// - Parameter redaction: the redaction of the archive. Every cookie's value is masked, whatever its name, because a
  ///   server may choose any name. In other texts, secrets are masked. `nil` masks nothing.
  static func sent(in fields: HTTPFields, _ redaction: Redaction?) -> [HAR.Cookie] {
    fields[values: .cookie].flatMap { masked($0, redaction).split(separator: ";") }.map { pair in
      let (name, value) = split(pair)
      return HAR.Cookie(name: redaction?.text(name) ?? name, value: redaction == nil ? value : Redaction.mask)
    }
  }

  static func set(in fields: HTTPFields, _ redaction: Redaction?) -> [HAR.Cookie] {
    fields[values: .setCookie].map { line in
      let parts = masked(line, redaction).split(separator: ";")
      let (name, value) = split(parts.first ?? "")
      var cookie = HAR.Cookie(name: redaction?.text(name) ?? name, value: redaction == nil ? value : Redaction.mask)
      for part in parts.dropFirst() {
        let (attribute, value) = split(part)
        switch attribute.lowercased() {
        case "path": cookie.path = redaction?.text(value) ?? value
        case "domain": cookie.domain = redaction?.text(value) ?? value
        case "httponly": cookie.httpOnly = true
        case "secure": cookie.secure = true
        default: break
        }
      }
      return cookie
    }
  }

  /// Masks secrets by value before anything is split, because a secret may contain a delimiter.
  private static func masked(_ line: String, _ redaction: Redaction?) -> String {
    redaction?.secretsMasked(in: line) ?? line
  }

  private static func split(_ pair: Substring) -> (name: String, value: String) {
    let equals = pair.firstIndex(of: "=") ?? pair.endIndex
    return (String(pair[..<equals].drop { $0 == " " }), String(pair[equals...].dropFirst()))
  }
}
