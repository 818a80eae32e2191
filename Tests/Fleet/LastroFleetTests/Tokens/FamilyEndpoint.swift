// SPDX-License-Identifier: Apache-2.0

import LastroSupport
import LastroTesting

/// A token endpoint that rotates refresh tokens, and revokes all of them when one is sent twice.
final class FamilyEndpoint: Sendable {
  private struct State {
    var count = 0
    /// The instance that spent each refresh token.
    var spenders: [String: String] = [:]
    /// The reuses of a refresh token whose spender runs still.
    var needless: [String] = []
    var reuses = 0
    var isRevoked = false
  }

  private let state = Lock(State())
  /// Whether a token that was sent twice gets the same successor, as long as that is unused.
  private let isLenient: Bool
  private let isRunning: @Sendable (String) -> Bool

  /// - Parameter isRunning: returns whether the instance with the given name still runs.
  init(isLenient: Bool, isRunning: @escaping @Sendable (String) -> Bool) {
    self.isLenient = isLenient
    self.isRunning = isRunning
  }

  var needless: [String] { state.withLock { $0.needless } }
  var reuses: Int { state.withLock { $0.reuses } }
  var refreshes: Int { state.withLock { $0.count } }
  /// The access token that was issued last.
  var newest: String { "a\(refreshes)" }

  /// Returns the response to a form with a refresh token `rN` and the name of the instance.
  func respond(to request: LoopbackRequest) -> LoopbackResponse {
    let fields = request.text.split(separator: "&").map { $0.split(separator: "=", maxSplits: 1).map(String.init) }
    let form = Dictionary(fields.filter { $0.count == 2 }.map { ($0[0], $0[1]) }) { $1 }
    guard let token = form["refresh_token"], let instance = form["instance"] else {
      return LoopbackResponse(status: 400)
    }
    return state.withLock { state in
      if let spender = state.spenders[token] {
        state.reuses += 1
        if isRunning(spender) { state.needless.append("\(token): \(spender), \(instance)") }
        if !isLenient || state.spenders["r\(state.count)"] != nil { state.isRevoked = true }
      } else {
        state.spenders[token] = instance
        state.count += 1
      }
      if state.isRevoked { return .json(#"{"error": "invalid_grant"}"#, status: 400) }
      return .json(
        #"{"access_token": "a\#(state.count)", "token_type": "Bearer", "expires_in": 120, "refresh_token": "r\#(state.count)"}"#
      )
    }
  }
}
