// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
internal import LastroSupport
import Synchronization

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// Puts a bearer token on requests (RFC 6750 §2.1), and gets a new one when it expires or is refused.
///
/// - Requests to other origins than the configured ones pass as they are, and so do requests that have an
///   `Authorization` field of another scheme.
/// - A token is refreshed ahead of its expiry, by a refresh that no request waits for: requests go on with the token as
///   long as it is valid.
/// - A request that was refused with 401 is repeated once: at once when the token it had was replaced meanwhile, else
///   after a refresh. A second 401 in the same call stands.
/// - Requests that are made while a refresh runs because a token was refused, or there is none that is valid, wait for
///   it. When it fails they are sent with the old token as long as that has not expired.
/// - One refresh serves all waiting requests. It runs in a task of its own: cancelling one of them, or all, does not
///   end it, and a cancelled request returns at once. It has its own limit in time.
/// - A refresh that fails, fails all waiting requests, with the error of the source: in ``HTTPFetchError/Reason`` it is
///   in `noRequest`; after a 401, which stands, it is in ``HTTPFetchError/retryEnd``: `policy(.custom(…))`. Calls that
///   had begun by then do not refresh again; new ones do, but not within 1 s: until then they get that error too. Where
///   the request for the token could not be sent, as with a token endpoint that is down, retries of those calls refresh
///   again too, and the pause grows from 10 ms to 1 s.
/// - The source is asked one call at a time. One that goes on after its timeout, or after the token was replaced, is
///   waited for, as long as the timeout again.
/// - Requests that the source makes in order to refresh may go through the same stack: they pass as they are.
///
/// Dropping the authenticator ends a refresh that runs.
///
/// ```swift
/// let tokens = try OAuth2ClientCredentials(client: client, scope: "read", stack: stack)
/// let authenticator = try BearerAuthenticator(source: tokens, origins: [Origin("https://api.github.com")])
/// configuration.interceptors = [authenticator, RetryInterceptor.standard]
/// ```
public final class BearerAuthenticator: RequestAuthenticator, HTTPResourceInterceptor, ClockUser, StackUser {
  private let scope: CredentialScope
  let source: any AccessTokenSource
  let refreshTimeout: Duration
  private let ownTime: TimeSource?
  /// A lock of its own: the clock is asked while ``state`` is locked.
  private let stackTime = Lock<TimeSource?>(nil)
  let state: Lock<State>
  /// Tells authenticators apart in ``refreshing``.
  let id = BearerAuthenticator.nextID()

  /// The authenticators on whose behalf the current task refreshes.
  @TaskLocal static var refreshing: Set<UInt64> = []

  /// Makes an authenticator.
  ///
  /// - Parameters:
  ///   - source: where new tokens come from.
  ///   - origins: the servers that get the token; at least one. All have to be `https` or loopback.
  ///   - token: the one to begin with, such as one that was persisted. Default: the first request gets one.
  ///   - leeway: how long before its expiry a token is refreshed; for a token that lives shorter than twice that, half
  ///     its life. After a refresh ahead of time failed, the next is tried a tenth of it later. Default 30 s.
  ///   - window: how many refreshes are too many; those that fail on the way to the source's server do not count.
  ///     Default 5 within 30 s. `nil`: no limit.
  ///   - refreshTimeout: how long one refresh may take; at most 1,000,000,000 s. Default 30 s.
  ///   - allowsInsecureOrigins: whether `http` origins other than loopback are accepted, where everyone on the way can
  ///     read the token. Default false.
  ///   - timeSource: default: that of the first stack with a clock of its own that has it among its interceptors; else
  ///     the continuous clock.
  /// - Throws: ``ConfigurationError`` when there is no origin, one is not secure, the leeway is negative, or the
  ///   timeout is not positive.
  public init(
    source: some AccessTokenSource, origins: [Origin], token: AccessToken? = nil, leeway: Duration = .seconds(30),
    window: BearerAuthenticator.RefreshWindow? = .standard, refreshTimeout: Duration = .seconds(30),
    allowsInsecureOrigins: Bool = false, timeSource: TimeSource? = nil
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
    self.source = source
    // Some thirty years: clocks trap on what they cannot hold.
    self.refreshTimeout = refreshTimeout.countable
    ownTime = timeSource
    var machine = TokenMachine(leeway: leeway.countable, window: window)
    if let token { machine.replace(with: token, at: (timeSource ?? .continuous).now()) }
    state = Lock(State(machine: machine))
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
    state.withLock { state in
      // What is left of its life is left by the other clock too.
      if let token = state.machine.current(at: before) { state.machine.replace(with: token, at: now) }
    }
  }

  deinit { state.withLock { $0.flight }?.cancel() }

  private static let lastID = Atomic<UInt64>(0)
  private static func nextID() -> UInt64 { lastID.wrappingAdd(1, ordering: .relaxed).newValue }

  /// The origins that get the token.
  public var origins: [Origin] { scope.origins }

  /// The configured origins: a redirect back to one of them gets the token again.
  public var credentialOrigins: [Origin] { origins }

  /// The token in use, with what is left of its lifetime, to be persisted; `nil` when there is none yet.
  public var token: AccessToken? {
    let now = timeSource.now()
    return state.withLock { $0.machine.current(at: now) }
  }

  /// Puts another token in place of the one in use, such as after a login; `nil` forgets it.
  ///
  /// A refresh that runs is cancelled, and its result dropped: a waiting request goes on with the new token, or for
  /// `nil` with a new refresh. The source forgets what it knows of the old token (``AccessTokenSource/forget()``), its
  /// refresh token included: after `nil`, ``OAuth2RefreshToken`` has none, and requests fail until there is a login.
  public func replace(with token: AccessToken?) {
    replaceAll(with: token)
  }

  /// Puts the token on a request to one of the origins; waits for one where there is none, or it is about to expire.
  ///
  /// - Throws: what the source throws, ``AccessTokenError``, or `CancellationError` when the task is cancelled while it
  ///   waits.
  public func authenticate(_ request: ResourceRequest) async throws -> ResourceRequest {
    try await authenticate(request, call: 0, hasFailed: false)
  }

  /// Wants a retry after a 401 to the token, once a call and once there is another token.
  public func evaluateFailedRequest(
    _ request: ResourceRequest?, response: ResourceResponse?, body: Data?, error: HTTPFetchError<any Error>,
    retryState: Retry.State
  ) async -> Retry.Action {
    await evaluate(request, response, retryState, call: 0)
  }

  /// As ``authenticate(_:)``, for a request that was made; passes a failure on.
  public func interceptMakeRequest(
    _ result: Result<ResourceRequest, any Error>, context: AttemptContext
  ) async -> Result<ResourceRequest, any Error> {
    await result.authenticated { request in
      let hasFailed = context.retryState.errors.contains(where: couldBeOurs)
      return try await authenticate(request, call: context.callID, hasFailed: hasFailed)
    }
  }

  /// As ``evaluateFailedRequest(_:response:body:error:retryState:)``.
  public func interceptFailed(
    _ request: ResourceRequest?, response: ResourceResponse?, body: Data?, error: HTTPFetchError<any Error>,
    context: AttemptContext
  ) async -> Retry.Action {
    await evaluate(request, response, context.retryState, call: context.callID)
  }
}

extension BearerAuthenticator {
  private func authenticate(_ request: ResourceRequest, call: UInt64, hasFailed: Bool) async throws -> ResourceRequest {
    guard isResponsible(for: request), Self.bearer(of: request) != nil || !request.hasAuthorization else {
      return request
    }
    let token = try await token(for: call, hasFailed: hasFailed)
    var request = request
    request.head.headerFields[values: .authorization] = ["Bearer " + token.value.reveal()]
    request.options.sensitiveHeaders.insert(.authorization)
    request.options.secrets.insert(token.value)
    return request
  }

  private func evaluate(
    _ request: ResourceRequest?, _ response: ResourceResponse?, _ retryState: Retry.State, call: UInt64
  ) async -> Retry.Action {
    guard response?.status == .unauthorized, let request, isResponsible(for: request),
      let carried = Self.bearer(of: request), !retryState.errors.contains(where: isRefusal)
    else { return .none }
    do {
      switch try await settle(.refused(carried), call: call) {
      case .token, .replaced: return .retry
      case .failed(let error): return .noRetry(.custom(error))
      }
    } catch {
      // Cancelled: the call ends, whatever is said here.
      return .none
    }
  }

  private func isResponsible(for request: ResourceRequest) -> Bool {
    !Self.refreshing.contains(id) && scope.covers(request)
  }

  /// Whether an earlier failure of the call is a 401 of ours.
  private func isRefusal(_ error: any Error) -> Bool {
    guard let error = error as? HTTPFetchError<any Error>, error.statusCode == .unauthorized else { return false }
    guard let url = error.response?.url, let origin = try? Origin(url) else { return true }
    return origins.contains(origin)
  }

  private func couldBeOurs(_ error: any Error) -> Bool {
    if case .noRequest = (error as? HTTPFetchError<any Error>)?.reason { return true }
    return isRefusal(error)
  }

  /// The bearer token that a request has.
  private static func bearer(of request: ResourceRequest) -> Secret? {
    let values = request.head.headerFields[values: .authorization]
    guard values.count == 1, let value = values.first, value.prefix(7).lowercased() == "bearer " else { return nil }
    return Secret(String(value.dropFirst(7)))
  }
}

extension ResourceRequest {
  fileprivate var hasAuthorization: Bool { head.headerFields[.authorization] != nil }
}
