// SPDX-License-Identifier: Apache-2.0

import Foundation
import LastroSupport

@testable import Lastro
@testable import LastroCookies

/// A jar on a clock of its own, with a small list of public suffixes.
struct TestJar {
  static let suffixes = PublicSuffixList(text: "com\norg\nuk\nco.uk\nexample\ngithub.io\n")
  static let epoch: TimeInterval = 1_000_000_000

  let jar: CookieJar
  private let seconds: Lock<TimeInterval>

  init(
    _ rules: CookieRules = .standard, at start: TimeInterval = epoch, suffixes: PublicSuffixList = suffixes
  ) {
    let seconds = Lock(start)
    self.seconds = seconds
    let time = TimeSource(
      now: { .seconds(seconds.withLock { $0 }) }, sleep: { _ in },
      sinceEpoch: { .seconds(seconds.withLock { $0 }) })
    jar = CookieJar(rules: rules, store: nil, time: time, suffixes: suffixes)
  }

  func advance(by more: TimeInterval) { seconds.withLock { $0 += more } }

  /// The outcome of one line.
  @discardableResult
  func set(_ line: String, from url: String = "https://www.example.com/") throws -> CookieVerdict.Outcome? {
    try jar.receive([line], from: url).first?.outcome
  }

  /// What stands in `Cookie` for a URL.
  func sent(to url: String = "https://www.example.com/") throws -> String {
    jar.selection(for: try CookieSource(url: url, jar.rules), isUse: true).field
  }
}
