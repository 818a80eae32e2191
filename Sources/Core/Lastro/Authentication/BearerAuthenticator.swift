// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
import HTTPTypes
internal import LastroSupport
import Synchronization

/// An authenticator that adds an access token to requests (RFC 6750 §2.1), and gets a new token when the current one
/// expires or is refused.
///
/// - Requests to origins that are not configured are left unchanged, and so are requests that have an `Authorization`
///   field of another scheme.
/// - A token is refreshed ahead of its expiry, in the background: requests use the current token as long as it is
///   valid.
/// - A request that was refused with a 401 is repeated once. It is repeated at once if its token has been replaced in
///   the meantime, and otherwise after a refresh. A second 401 in the same call is final. A 401 that demands a nonce in
///   the proof of a `DPoP` token (RFC 9449 §9) does not refuse the token, and does not count.
/// - While a refresh runs because a token was refused, or because no valid token exists, new requests wait for it. If
///   it fails, they are sent with the old token as long as that has not expired.
/// - All waiting requests share one refresh. It runs in a separate task with its own time limit. Cancelling one or all
///   of the requests does not end it, and a cancelled request returns at once.
/// - If a refresh fails, all waiting requests fail with the error of the source: in ``HTTPFetchError/Reason`` it is in
///   `noRequest`. After a 401, the call fails with that 401, and the error is in ``HTTPFetchError/retryEnd``:
///   `policy(.custom(…))`. Calls that had begun by then do not refresh again. New calls do, but not within 1 s: until
///   then they fail with the same error. If the token request could not be sent, for example because the token endpoint
///   is down, retries of those calls also refresh again, and the pause grows from 10 ms to 1 s.
/// - The source is called once at a time. If a call continues after its timeout, or after the token was replaced, the
///   next call waits for it, for up to the timeout again.
/// - Requests that the source makes for a refresh may use the same stack: they are left unchanged.
///
/// Releasing the authenticator cancels a refresh in progress.
///
/// ```swift
/// let tokens = try client.clientCredentials(scope: "read", stack: stack)
/// let authenticator = try BearerAuthenticator(source: tokens, origins: [Origin("https://api.github.com")])
/// configuration.interceptors = [authenticator, .retry]
/// ```
public final class BearerAuthenticator: RequestAuthenticator, HTTPResourceInterceptor, ScopedAuthenticator, ClockUser,
  StackUser
{
  private let scope: CredentialScope
  let source: any AccessTokenSource
  private let notes: (any NotingTokenSource)?
  let refreshTimeout: Duration
  private let ownTime: TimeSource?
  /// A separate lock, because the clock is read while ``state`` is locked.
  private let stackTime = Lock<TimeSource?>(nil)
  let state: Lock<State>
  /// The identifier of the authenticator in ``refreshing``.
  let id = BearerAuthenticator.nextID()

  /// The authenticators for which the current task refreshes.
  @TaskLocal static var refreshing: Set<UInt64> = []

  /// Creates an authenticator.
  ///
  /// - Parameters:
  ///   - source: the source of new tokens.
  ///   - origins: the origins that receive the token; at least one. All must use `https` or be loopback.
  ///   - token: the initial token, such as one that was persisted. Default: the first request gets one.
  ///   - leeway: the time before its expiry at which a token is refreshed. If a token's lifetime is shorter than twice
  ///     the leeway, it is refreshed after half its lifetime. If a refresh ahead of expiry fails, the next one is tried
  ///     after a tenth of the leeway. Default 30 s.
  ///   - maximumRefreshes: the maximum number of refreshes within 30 s, at least 1; those that fail on the way to the
  ///     source's server do not count. Default 5. `nil`: no limit.
  ///   - refreshTimeout: the maximum duration of a refresh; at most 1,000,000,000 s. Default 30 s.
  ///   - allowsInsecureOrigins: whether `http` origins other than loopback are accepted, where anyone on the network
  ///     path can read the token. Default `false`.
  ///   - timeSource: the clock. Default: the clock of the first stack that has this authenticator among its
  ///     interceptors and uses a clock of its own, or else the continuous clock.
  /// - Throws: ``ConfigurationError`` if there is no origin or an insecure one, the leeway is negative, or the timeout
  ///   or the maximum is not positive.
  public init(
    source: some AccessTokenSource, origins: [Origin], token: AccessToken? = nil, leeway: Duration = .seconds(30),
    maximumRefreshes: Int? = 5, refreshTimeout: Duration = .seconds(30), allowsInsecureOrigins: Bool = false,
    timeSource: TimeSource? = nil
  ) throws(ConfigurationError) {
    scope = try CredentialScope(origins, allowsInsecureOrigins: allowsInsecureOrigins)
    guard leeway >= .zero else {
      throw ConfigurationError(
        "the leeway is \(leeway.brief), below the minimum of 0", hint: "give zero or a positive duration")
    }
    guard refreshTimeout > .zero else {
      throw ConfigurationError(
        "the refresh timeout is \(refreshTimeout.brief), which is not positive", hint: "give a positive duration")
    }
    if let maximumRefreshes, maximumRefreshes < 1 {
      throw ConfigurationError(
        "maximumRefreshes is \(maximumRefreshes), below the minimum of 1",
        hint: "give 1 or more, or nil for no limit")
    }
    self.source = source
    notes = source as? any NotingTokenSource
    // Limits the timeout to about thirty years: clocks trap on values that they cannot represent.
    self.refreshTimeout = refreshTimeout.countable
    ownTime = timeSource
    var machine = TokenMachine(leeway: leeway.countable, maximumRefreshes: maximumRefreshes)
    if let token { machine.replace(with: token, at: (timeSource ?? .continuous).now()) }
    state = Lock(State(machine: RefreshMachine(machine)))
  }

  /// Creates an authenticator that gets its tokens from a closure.
  ///
  /// - Parameters:
  ///   - origins: the origins that receive the token; at least one. All must use `https` or be loopback.
  ///   - refresh: returns a new token, as ``AccessTokenSource/token(replacing:)`` does. Its argument is the token to
  ///     replace, or `nil` if there is none yet.
  /// - Throws: ``ConfigurationError`` if there is no origin, or an insecure one.
  public convenience init(
    origins: [Origin], refresh: @escaping @Sendable (_ old: AccessToken?) async throws -> AccessToken
  ) throws(ConfigurationError) {
    try self.init(source: CustomAccessTokenSource(refresh), origins: origins)
  }

  var timeSource: TimeSource { ownTime ?? stackTime.withLock { $0 } ?? .continuous }

  package func adopt(clock time: TimeSource) {
    guard ownTime == nil, !time.isContinuous else { return }
    let isFirst = stackTime.withLock { taken in
      defer { taken = taken ?? time }
      return taken == nil
    }
    guard isFirst else { return }
    let (before, now) = (TimeSource.continuous.now(), time.now())
    state.withLock { $0.machine.changeClock(from: before, to: now) }
  }

  deinit { state.withLock { $0.errand }?.cancel() }

  private static let lastID = Atomic<UInt64>(0)
  private static func nextID() -> UInt64 { lastID.wrappingAdd(1, ordering: .relaxed).newValue }

  /// The origins that receive the token.
  package var origins: [Origin] { scope.origins }

  /// The current token with its remaining lifetime, to be persisted; `nil` if there is none yet.
  public var token: AccessToken? {
    let now = timeSource.now()
    return state.withLock { $0.machine.tokens.current(at: now) }
  }

  /// Replaces the current token, for example after a login; `nil` removes it.
  ///
  /// A refresh in progress is cancelled, and its result is dropped. Waiting requests continue with the new token, or
  /// with a new refresh if the token is `nil`. The source forgets the old token (``AccessTokenSource/forget()``) and
  /// its refresh token. After `nil`, the source of a refresh token has none, so requests fail until the next login.
  public func replace(with token: AccessToken?) {
    replaceAll(with: token)
  }

  /// Adds the token to a request to one of the origins. Waits for a token if there is none or if it is about to expire.
  ///
  /// - Throws: the errors of the source, an error for too many or too slow refreshes, or
  ///   `CancellationError` if the task is cancelled while it waits.
  public func authenticate(_ request: ResourceRequest) async throws -> ResourceRequest {
    try await authenticate(request, call: 0, hasFailed: false)
  }

  /// Asks for a retry after a server refused the token with a 401, once per call, as soon as there is another token.
  public func evaluateFailedRequest(
    _ request: ResourceRequest?, response: ResourceResponse?, body: Data?, error: HTTPFetchError<any Error>,
    retryState: Retry.State
  ) async -> Retry.Action {
    await evaluate(request, response, retryState, call: 0)
  }

  /// Does the same as ``authenticate(_:)`` if the request was made, and passes on a failure.
  public func interceptMakeRequest(
    _ result: Result<ResourceRequest, any Error>, context: AttemptContext
  ) async -> Result<ResourceRequest, any Error> {
    await result.authenticated { request in
      let hasFailed = context.retryState.errors.contains(where: couldBeOurs)
      return try await authenticate(request, call: context.callID, hasFailed: hasFailed)
    }
  }

  /// Does the same as ``evaluateFailedRequest(_:response:body:error:retryState:)``.
  public func interceptFailed(
    _ request: ResourceRequest?, response: ResourceResponse?, body: Data?, error: HTTPFetchError<any Error>,
    context: AttemptContext
  ) async -> Retry.Action {
    await evaluate(request, response, context.retryState, call: context.callID)
  }
}

extension BearerAuthenticator {
  private func authenticate(_ request: ResourceRequest, call: UInt64, hasFailed: Bool) async throws -> ResourceRequest {
    guard isResponsible(for: request), Self.token(of: request) != nil || !request.hasAuthorization else {
      return request
    }
    let token = try await token(for: call, hasFailed: hasFailed)
    var request = request
    request.head.headerFields[values: .authorization] = ["\(token.type) \(token.value.reveal())"]
    request.options.sensitiveHeaders.insert(.authorization)
    request.options.secrets.insert(token.value)
    if let notes { request.options.notes += notes.takeNotes() }
    return request
  }

  private func evaluate(
    _ request: ResourceRequest?, _ response: ResourceResponse?, _ retryState: Retry.State, call: UInt64
  ) async -> Retry.Action {
    guard response?.status == .unauthorized, let request, isResponsible(for: request),
      response?.demandsProofNonce != true, let carried = Self.token(of: request),
      !retryState.errors.contains(where: isRefusal)
    else { return .none }
    do {
      switch try await settle(.refused(carried), call: call) {
      case .token, .replaced: return .retry
      case .failed(let error): return .noRetry(.custom(error))
      }
    } catch {
      // The task was cancelled, so the call ends regardless of this result.
      return .none
    }
  }

  private func isResponsible(for request: ResourceRequest) -> Bool {
    !Self.refreshing.contains(id) && scope.covers(request)
  }

  /// Returns whether an earlier failure of the call is a 401 from one of the origins.
  private func isRefusal(_ error: any Error) -> Bool {
    guard let error = error as? HTTPFetchError<any Error>, error.statusCode == .unauthorized,
      error.response?.demandsProofNonce != true
    else { return false }
    guard let url = error.response?.url, let origin = try? Origin(url) else { return true }
    return origins.contains(origin)
  }

  private func couldBeOurs(_ error: any Error) -> Bool {
    if case .noRequest = (error as? HTTPFetchError<any Error>)?.reason { return true }
    return isRefusal(error)
  }

  /// Returns the access token that a request has, of either type.
  private static func token(of request: ResourceRequest) -> Secret? {
    let values = request.head.headerFields[values: .authorization]
    guard values.count == 1, let value = values.first, let blank = value.firstIndex(of: " "),
      AccessToken.supported(String(value[..<blank])) != nil
    else { return nil }
    return Secret(String(value[value.index(after: blank)...]))
  }
}

extension ResourceRequest {
  fileprivate var hasAuthorization: Bool { head.headerFields[.authorization] != nil }
}
