// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroSupport
import LastroWire

/// The `No-Vary-Search` rules of recent responses, by path. Rules exist in this process only, and so responses stored
/// by a rule are found in this process only: a change that came before the rule was known could not invalidate them.
final class SearchRules: Sendable {
  private static let maximumPaths = 1_000
  private static let maximumRules = 4

  private struct Path {
    var current: NoVarySearch?
    /// Every rule that was ever current: responses stored by them still exist.
    var seen: [NoVarySearch] = []
  }

  private struct State {
    var paths: [Substring: Path] = [:]
    /// A part of every text. After it changes, earlier responses are no longer found.
    var salt: UInt64
  }

  private let state: Lock<State>

  init(random: RandomSource = .system) { state = Lock(State(salt: random.next())) }

  /// Returns the current rule for a URL, and the URL's canonical text by that rule.
  func rule(of url: String) -> (rule: NoVarySearch?, text: String) {
    state.withLock { state in
      guard let rule = state.paths[Self.path(of: url)]?.current else { return (nil, url) }
      return (rule, Self.text(url, rule, state.salt))
    }
  }

  /// Returns every text under which responses of a URL may be stored.
  func texts(of url: String) -> [String] {
    state.withLock { state in
      [url] + (state.paths[Self.path(of: url)]?.seen ?? []).map { Self.text(url, $0, state.salt) }
    }
  }

  /// Records a response's rule that differs from the known one.
  ///
  /// - Returns: whether the rule is used; false for a path that has had too many different rules.
  func learn(_ rule: NoVarySearch?, of url: String) -> Bool {
    state.withLock { state in
      let name = Self.path(of: url)
      if state.paths[name] == nil, state.paths.count >= Self.maximumPaths {
        state.paths = [:]
        state.salt &+= 1
      }
      var path = state.paths[name] ?? Path()
      let isFollowed = rule.map { path.seen.contains($0) || path.seen.count < Self.maximumRules } ?? true
      if let rule, isFollowed, !path.seen.contains(rule) { path.seen.append(rule) }
      path.current = isFollowed ? rule : nil
      state.paths[name] = path
      return isFollowed
    }
  }

  private static func path(of url: String) -> Substring { url.prefix { $0 != "?" } }

  private static func text(_ url: String, _ rule: NoVarySearch, _ salt: UInt64) -> String {
    "\(salt) \(rule.text)\n\(rule.canonical(url))"
  }
}
