// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroSupport
import LastroWire

/// What answers said of the queries of their paths. It is known in this process alone, and so what is kept by such a
/// rule is found in this process alone: a change that came before the rule was known could not end it.
final class SearchRules: Sendable {
  private static let maximumPaths = 1_000
  private static let maximumRules = 4

  private struct Path {
    var current: NoVarySearch?
    /// All that were the current one: what was kept by them is still there.
    var seen: [NoVarySearch] = []
  }

  private struct State {
    var paths: [Substring: Path] = [:]
    /// Part of all texts: what was kept before it changed is not found again.
    var salt: UInt64
  }

  private let state: Lock<State>

  init(random: RandomSource = .system) { state = Lock(State(salt: random.next())) }

  /// The rule by which requests of a URL are told apart, and the text that stands for the URL by it.
  func rule(of url: String) -> (rule: NoVarySearch?, text: String) {
    state.withLock { state in
      guard let rule = state.paths[Self.path(of: url)]?.current else { return (nil, url) }
      return (rule, Self.text(url, rule, state.salt))
    }
  }

  /// All texts under which answers of a URL may be kept.
  func texts(of url: String) -> [String] {
    state.withLock { state in
      [url] + (state.paths[Self.path(of: url)]?.seen ?? []).map { Self.text(url, $0, state.salt) }
    }
  }

  /// An answer has another rule than was known.
  ///
  /// - Returns: whether it is followed: what says something else each time is not.
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
