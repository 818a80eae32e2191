// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import LastroSupport

/// The format of Netscape's `cookies.txt`: one line per cookie, with seven fields separated by tabs. The fields are the
/// domain, `TRUE` if the cookie is also for hosts below it, the path, `TRUE` if the cookie is secure, the expiry in
/// seconds since 1970 (0 for a session cookie), the name, and the value.
enum NetscapeCookies {
  struct Entry {
    var line: Int
    var cookie: Cookie
  }

  /// The prefix of a line for a cookie that scripts may not read; such a line is not a comment.
  private static let httpOnly = "#HttpOnly_"
  /// The last valid expiry, 9999-12-31.
  private static let lastSecond = 253_402_300_799

  // MARK: Writing

  static func text(of cookies: [Cookie]) -> String {
    var text = "# Netscape HTTP Cookie File\n# Made by Lastro: each line is a cookie, and the key to a session.\n\n"
    for cookie in cookies { text += line(of: cookie) ?? "# left out, for a tab in it: \(cookie)\n" }
    return text
  }

  private static func line(of cookie: Cookie) -> String? {
    let fields = [
      (cookie.isHTTPOnly ? httpOnly : "") + (cookie.isHostOnly ? "" : ".") + cookie.domain,
      flag(!cookie.isHostOnly), cookie.path, flag(cookie.isSecure), "\(seconds(of: cookie.expiry))", cookie.name,
      cookie.value.reveal(),
    ]
    guard fields.allSatisfy({ !$0.utf8.contains(UInt8(ascii: "\t")) }) else { return nil }
    return fields.joined(separator: "\t") + "\n"
  }

  private static func flag(_ value: Bool) -> String { value ? "TRUE" : "FALSE" }

  /// Returns the expiry, rounded up to at least 1, because 0 means a session cookie.
  private static func seconds(of expiry: Date?) -> Int {
    guard let expiry else { return 0 }
    return Int(min(max(expiry.timeIntervalSince1970.rounded(.up), 1), Double(lastSecond)))
  }

  // MARK: Reading

  /// Parses a text into its cookies and the lines that are not in the format.
  static func entries(of text: String) -> (entries: [Entry], problems: [CookieImportProblem]) {
    var entries: [Entry] = []
    var problems: [CookieImportProblem] = []
    // Split bytes, because CRLF is a single `Character`.
    for (index, bytes) in text.utf8.split(separator: 0x0A, omittingEmptySubsequences: false).enumerated() {
      let line = Substring(bytes.last == 0x0D ? bytes.dropLast() : bytes)
      let isMarked = line.utf8.starts(with: httpOnly.utf8)
      guard isMarked || line.utf8.first != UInt8(ascii: "#"), !line.withoutBlanks.isEmpty else { continue }
      let fields = line.dropFirst(isMarked ? httpOnly.utf8.count : 0)
      do throws(CookieImportProblem) {
        var cookie = try cookie(of: fields, line: index + 1)
        cookie.isHTTPOnly = isMarked
        entries.append(Entry(line: index + 1, cookie: cookie))
      } catch {
        problems.append(error)
      }
    }
    return (entries, problems)
  }

  private static func cookie(of text: Substring, line: Int) throws(CookieImportProblem) -> Cookie {
    var fields = text.utf8.split(separator: 0x09, omittingEmptySubsequences: false).map { String(Substring($0)) }
    // Some programs omit the tab before an empty value.
    if fields.count == 6 { fields.append("") }
    guard fields.count == 7 else {
      throw CookieImportProblem(
        line: line, reason: "has \(fields.count) \(fields.count == 1 ? "field" : "fields"), and not 7")
    }
    guard let isForSubdomains = flag(fields[1]), let isSecure = flag(fields[3]) else {
      throw CookieImportProblem(line: line, reason: "has a word other than TRUE or FALSE")
    }
    guard let seconds = Int(digits: fields[4]), (0...lastSecond).contains(seconds) else {
      throw CookieImportProblem(line: line, reason: "has an expiry that is not a number of seconds since 1970")
    }
    let domain = fields[0].utf8.first == UInt8(ascii: ".") ? String(fields[0].dropFirst()) : fields[0]
    return Cookie(
      fields[5], Secret(fields[6]), domain: domain, path: fields[2], isHostOnly: !isForSubdomains,
      isSecure: isSecure, expiry: seconds == 0 ? nil : Date(timeIntervalSince1970: Double(seconds)))
  }

  private static func flag(_ text: String) -> Bool? {
    switch text.uppercased() {
    case "TRUE": true
    case "FALSE": false
    default: nil
    }
  }
}
