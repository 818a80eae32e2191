// SPDX-License-Identifier: Apache-2.0

internal import LastroSupport

/// The token of a ``BearerAuthenticator``, and the decisions about it. It has no clock and starts no tasks: its callers pass the
/// time and carry out the decisions.
struct TokenMachine {
  /// The decision for a request that needs a token.
  enum Decision {
    /// Use this valid token.
    case use(AccessToken)
    /// Fail: no token is available.
    case fail(any Error)
    /// Wait for the current refresh.
    case join
    /// Start a refresh. Use the token if there is a valid one, and otherwise wait.
    case begin(using: AccessToken?)
  }

  /// The kind of the current refresh, if any.
  enum Refresh {
    case none
    /// The refresh was not caused by a refusal, so the current token, if there is one, may still be valid.
    case ahead
    /// A server refused the token, or the token is being replaced.
    case refused
  }

  struct Credential: Hashable {
    var token: AccessToken
    var expiry: Duration?
    /// The time from which the token is due for a refresh.
    var due: Duration?
  }

  struct Failure {
    var error: any Error
    /// The version of the credential that the refresh should have replaced.
    var version: UInt64
    /// The latest call that had asked for a token before the failure.
    var lastCall: UInt64
    var time: Duration
    /// The time for which every request fails with this error.
    var pause: Duration
    /// Whether a retry may succeed without sending anything twice. If so, calls that had already begun may also refresh
    /// again.
    var mayPass: Bool
  }

  /// The time for which a failed refresh is the result for all requests. Without it, every request would contact a
  /// token server that is down.
  static let failurePause = Duration.seconds(1)
  /// The pause after the first failure to reach the source's server. It is short, so that retries detect early that the
  /// server is back. Each further failure doubles it, up to ``failurePause``.
  static let firstPassingPause = Duration.milliseconds(10)

  /// The length of the sliding window in which refreshes are counted.
  static let window = Duration.seconds(30)

  let leeway: Duration
  let maximumRefreshes: Int?
  private(set) var credential: Credential?
  private(set) var failure: Failure?
  /// The number of changes of the credential.
  private(set) var version: UInt64 = 0
  /// The start times of the refreshes that count towards the window.
  private(set) var refreshes: [Duration] = []
  private(set) var lastCall: UInt64 = 0

  init(leeway: Duration, maximumRefreshes: Int?) {
    self.leeway = leeway
    self.maximumRefreshes = maximumRefreshes
  }

  /// Returns the token with its remaining lifetime.
  func current(at now: Duration) -> AccessToken? {
    credential.map { credential in
      AccessToken(
        value: credential.token.value, expiresIn: credential.expiry.map { max(.zero, $0 - now) },
        refreshToken: credential.token.refreshToken, scope: credential.token.scope, type: credential.token.type)
    }
  }

  /// Returns the token if it does not need a refresh. `call` is 0 if it is not known.
  ///
  /// - Parameter isRefused: whether a refresh is running because the token was refused.
  mutating func ready(for call: UInt64, isRefused: Bool, at now: Duration) -> AccessToken? {
    lastCall = max(lastCall, call)
    guard !isRefused, let credential, credential.due.map({ now < $0 }) ?? true else { return nil }
    return credential.token
  }

  /// Returns the token if it has not expired.
  func valid(at now: Duration) -> AccessToken? {
    guard let credential, credential.expiry.map({ now < $0 }) ?? true else { return nil }
    return credential.token
  }

  /// Decides for a request that is about to be sent.
  ///
  /// A refresh ahead of expiry does not delay requests: servers accept the token until it expires, and recent requests
  /// used it too. Only a refusal proves that the token is invalid; requests wait in that case.
  ///
  /// - Parameters:
  ///   - hasFailed: whether an earlier attempt of the call had no token, or was refused.
  ///   - refresh: the current refresh.
  mutating func decide(for call: UInt64, hasFailed: Bool, refresh: Refresh, at now: Duration) -> Decision {
    if refresh == .refused { return .join }
    if let token = ready(for: call, isRefused: false, at: now) { return .use(token) }
    let valid = valid(at: now)
    if refresh == .ahead { return valid.map { .use($0) } ?? .join }
    if let valid { return isPausing(at: now) || isExcessive(at: now) ? .use(valid) : .begin(using: valid) }
    if let error = knownFailure(of: hasFailed ? call : 0, at: now) { return .fail(error) }
    return beginUnlessExcessive(at: now)
  }

  /// Decides for a request with the current token that a server refused.
  mutating func decide(refused call: UInt64, refresh: Refresh, at now: Duration) -> Decision {
    if refresh != .none { return .join }
    if let error = knownFailure(of: call, at: now) { return .fail(error) }
    return beginUnlessExcessive(at: now)
  }

  /// Returns whether a token is the current one.
  func isCurrent(_ value: Secret) -> Bool { credential?.token.value == value }

  /// Stores the result of a refresh.
  ///
  /// - Parameter start: the time when the refresh began. The lifetime of the token counts from this time.
  mutating func storeResult(_ result: Result<AccessToken, any Error>, start: Duration, now: Duration) {
    switch result {
    case .success(let token):
      refreshes.append(start)
      replace(with: token, at: start)
    case .failure(let error):
      if !Self.isTransportFailure(error) { refreshes.append(start) }
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

  /// Returns whether a refresh failed before the source received a valid response.
  private static func isTransportFailure(_ error: any Error) -> Bool {
    switch error {
    case is CancellationError, AccessTokenError.refreshTimedOut: true
    case let error as TransportError: error.stage != .request
    case let error as any FailureTelling:
      switch error.failedFetch?.record.kind {
      case .transport, .badResponse, .cancelled: true
      default: false
      }
    default: false
    }
  }

  private mutating func beginUnlessExcessive(at now: Duration) -> Decision {
    if let maximumRefreshes, isExcessive(at: now) {
      return .fail(AccessTokenError.excessiveRefresh(maximumRefreshes))
    }
    return .begin(using: nil)
  }

  /// Returns the error of a failed refresh if it applies to this call: the refresh ended within its pause, or the call
  /// had asked for a token before the refresh failed.
  private func knownFailure(of call: UInt64, at now: Duration) -> (any Error)? {
    guard let failure, failure.version == version else { return nil }
    let isOld = call != 0 && call <= failure.lastCall && !failure.mayPass
    return isOld || now - failure.time < failure.pause ? failure.error : nil
  }

  /// Returns whether the last refresh failed a short time ago. While the source is down, not every call should start
  /// another refresh ahead of expiry.
  private func isPausing(at now: Duration) -> Bool {
    guard let failure, failure.version == version else { return false }
    return now - failure.time < leeway / 10
  }

  private mutating func isExcessive(at now: Duration) -> Bool {
    guard let maximumRefreshes else { return false }
    refreshes.removeAll { now - $0 >= Self.window }
    return refreshes.count >= maximumRefreshes
  }
}
