// SPDX-License-Identifier: Apache-2.0

internal import LastroSupport

/// What ``BearerAuthenticator`` knows, and what it decides from that. Neither time nor tasks: those are told.
struct TokenMachine {
  /// What to do for a request that needs a token.
  enum Decision {
    /// A valid token is there.
    case use(AccessToken)
    /// There is no token to be had.
    case fail(any Error)
    /// A refresh runs: wait for it.
    case join
    /// Begin a refresh; go on with a token that still is valid, or wait.
    case begin(using: AccessToken?)
  }

  /// The refresh that runs, if any.
  enum Refresh {
    case none
    /// Nothing says that the token is not good any more, if there is one.
    case ahead
    /// The token was refused, or is being replaced.
    case refused
  }

  private struct Credential {
    var token: AccessToken
    var expiry: Duration?
    /// From when on it is refreshed.
    var due: Duration?
  }

  private struct Failure {
    var error: any Error
    /// The version of the credential that could not be replaced.
    var version: UInt64
    /// The last call that had asked for a token by then.
    var lastCall: UInt64
    var time: Duration
    /// How long it answers every request.
    var pause: Duration
    /// Whether asking again may help, and sends nothing twice: also for the calls that had begun by then.
    var mayPass: Bool
  }

  /// How long the failure of a refresh is the answer to all: without it, every request asks a token server that is
  /// down.
  static let failurePause = Duration.seconds(1)
  /// The same for the first failure to reach the source's server: a retry is to find it when it is back. Each further
  /// one doubles it, up to ``failurePause``.
  static let firstPassingPause = Duration.milliseconds(10)

  let leeway: Duration
  let window: BearerAuthenticator.RefreshWindow?
  private var credential: Credential?
  private var failure: Failure?
  /// Counts credentials.
  private(set) var version: UInt64 = 0
  /// Beginnings of the refreshes that count for the window.
  private var refreshes: [Duration] = []
  private var lastCall: UInt64 = 0

  init(leeway: Duration, window: BearerAuthenticator.RefreshWindow?) {
    self.leeway = leeway
    self.window = window
  }

  /// The token with what is left of its lifetime.
  func current(at now: Duration) -> AccessToken? {
    credential.map { credential in
      AccessToken(
        unchecked: credential.token.value, expiresIn: credential.expiry.map { max(.zero, $0 - now) },
        refreshToken: credential.token.refreshToken, scope: credential.token.scope)
    }
  }

  /// A token that needs no refresh. `call` is 0 where it is not known.
  ///
  /// - Parameter isRefused: whether a refresh runs because the token was refused.
  mutating func ready(for call: UInt64, isRefused: Bool, at now: Duration) -> AccessToken? {
    lastCall = max(lastCall, call)
    guard !isRefused, let credential, credential.due.map({ now < $0 }) ?? true else { return nil }
    return credential.token
  }

  /// The token as long as it has not expired.
  func valid(at now: Duration) -> AccessToken? {
    guard let credential, credential.expiry.map({ now < $0 }) ?? true else { return nil }
    return credential.token
  }

  /// For a request that is to be sent.
  ///
  /// A refresh ahead of time holds no request up: servers take the token until it expires, and what was sent a moment
  /// ago went out with it too. Only a refusal tells that it is worthless; then requests wait.
  ///
  /// - Parameters:
  ///   - hasFailed: whether an earlier attempt of the call failed for want of a token, or was refused.
  ///   - refresh: what runs.
  mutating func decide(for call: UInt64, hasFailed: Bool, refresh: Refresh, at now: Duration) -> Decision {
    if refresh == .refused { return .join }
    if let token = ready(for: call, isRefused: false, at: now) { return .use(token) }
    let valid = valid(at: now)
    if refresh == .ahead { return valid.map { .use($0) } ?? .join }
    if let valid { return isPausing(at: now) || isExcessive(at: now) ? .use(valid) : .begin(using: valid) }
    if let error = knownFailure(of: hasFailed ? call : 0, at: now) { return .fail(error) }
    return begin(at: now)
  }

  /// For a request that was refused with the current token in it.
  mutating func decide(refused call: UInt64, refresh: Refresh, at now: Duration) -> Decision {
    if refresh != .none { return .join }
    if let error = knownFailure(of: call, at: now) { return .fail(error) }
    return begin(at: now)
  }

  /// Whether a token is the current one.
  func isCurrent(_ value: Secret) -> Bool { credential?.token.value == value }

  /// A refresh ended.
  ///
  /// - Parameter start: when it began; a lifetime counts from there.
  mutating func finish(_ result: Result<AccessToken, any Error>, start: Duration, now: Duration) {
    switch result {
    case .success(let token):
      refreshes.append(start)
      replace(with: token, at: start)
    case .failure(let error):
      if !((error as? any TransportFailureTelling)?.isTransportFailure ?? false) { refreshes.append(start) }
      let mayPass = (error as? any FailureTelling)?.mayPass ?? false
      var pause = Self.failurePause
      if mayPass {
        let last = failure.flatMap { $0.version == version && $0.mayPass ? $0.pause : nil }
        pause = min(pause, last.map { $0 * 2 } ?? Self.firstPassingPause)
      }
      failure = Failure(error: error, version: version, lastCall: lastCall, time: now, pause: pause, mayPass: mayPass)
    }
  }

  mutating func replace(with token: AccessToken?, at now: Duration) {
    version += 1
    failure = nil
    credential = token.map { token in
      let lifetime = token.expiresIn.map(\.countable)
      return Credential(
        token: token, expiry: lifetime.map { now + $0 }, due: lifetime.map { now + $0 - min(leeway, $0 / 2) })
    }
  }

  private mutating func begin(at now: Duration) -> Decision {
    if let window, isExcessive(at: now) { return .fail(AccessTokenError.excessiveRefresh(window)) }
    return .begin(using: nil)
  }

  /// The failure of a refresh that ended a moment ago, or that this call, having begun before, waited for or came too
  /// late for.
  private func knownFailure(of call: UInt64, at now: Duration) -> (any Error)? {
    guard let failure, failure.version == version else { return nil }
    let isOld = call != 0 && call <= failure.lastCall && !failure.mayPass
    return isOld || now - failure.time < failure.pause ? failure.error : nil
  }

  /// Whether a refresh ahead of time failed a moment ago: while its source is down, not every call waits for it.
  private func isPausing(at now: Duration) -> Bool {
    guard let failure, failure.version == version else { return false }
    return now - failure.time < leeway / 10
  }

  private mutating func isExcessive(at now: Duration) -> Bool {
    guard let window else { return false }
    refreshes.removeAll { now - $0 >= window.duration }
    return refreshes.count >= window.count
  }
}
