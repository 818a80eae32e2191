// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// Adapts requests, watches what becomes of them, and has a say in whether a failure is retried.
///
/// Order, for every event: the stack's interceptors, then the resource's, each in array order. Hooks of one call run
/// one after another, on the concurrent pool or the executor that the caller's task prefers; calls run side by side.
///
/// A hook may wait, such as for a token. When the caller cancels or a time limit passes meanwhile, the hook's task is
/// cancelled, and the call goes on at once, without what the hook would have said; it may then still be at work when
/// the next hook runs. Hooks that are told of the end after that are given a second to return.
///
/// A hook that a type does not implement costs nothing: it is called until that is found out, once as a rule, and then
/// no more.
///
/// What has to wrap a whole exchange wraps the ``Transport`` instead.
///
/// ```swift
/// struct TraceInterceptor: HTTPResourceInterceptor {
///   func interceptMakeRequest(
///     _ result: Result<ResourceRequest, any Error>, context: AttemptContext
///   ) async -> Result<ResourceRequest, any Error> {
///     result.flatMap { request in
///       var request = request
///       return Result {
///         try request.setHeader("X-Request-ID", UUID().uuidString)
///         return request
///       }
///     }
///   }
/// }
/// ```
public protocol HTTPResourceInterceptor: Sendable {
  /// Origins to which this interceptor may send credentials even after a redirect from elsewhere.
  ///
  /// After a redirect to another origin, credential fields that an interceptor adds are dropped, unless the new origin
  /// stands here. Default: none.
  var credentialOrigins: [Origin] { get }

  /// Whether a hook may suspend for long. Default true. One that never does may say false: it then runs on the call's
  /// own task, which is cheaper, and nothing interrupts it.
  ///
  /// A hook that may suspend begins on the call's thread, and is left behind from where it first suspends. One that
  /// blocks its thread holds the call up, whatever it says here; Swift's concurrent pool forbids that anyway.
  var hooksWait: Bool { get }

  /// Adapts a request before it is handed to the transport: once an attempt, and once more for every redirect followed.
  ///
  /// The request of a redirect is made out of the one before it, which this interceptor has adapted already: set header
  /// fields rather than adding them (``ResourceRequest/setHeader(_:_:)``), or look at ``AttemptContext/hop``, so that
  /// they do not come twice.
  ///
  /// - Parameters:
  ///   - result: what the resource, or the interceptor before, made. A failure may be turned into a request.
  ///   - context: where in the call this is.
  /// - Returns: what the next interceptor gets. Default: `result`.
  func interceptMakeRequest(
    _ result: Result<ResourceRequest, any Error>, context: AttemptContext
  ) async -> Result<ResourceRequest, any Error>

  /// Told that a request, final and checked, is about to be handed to the transport. Default: nothing.
  func interceptScheduled(_ request: ResourceRequest, context: AttemptContext) async

  /// Told of a success: status 200–299, and for a typed resource a body that decoded. Default: nothing.
  ///
  /// - Parameters:
  ///   - request: the last request, after redirects.
  ///   - response: its answer.
  ///   - body: the collected body; `nil` when it is streamed.
  ///   - context: where in the call this is.
  func interceptSucceeded(
    _ request: ResourceRequest, response: ResourceResponse, body: Data?, context: AttemptContext
  ) async

  /// Told of a failure of an attempt, also of one before anything was scheduled, and asked what to do.
  ///
  /// Every interceptor is asked, whatever those before said and even when a retry is out of the question.
  ///
  /// - Parameters:
  ///   - request: the last request; `nil` when none could be made.
  ///   - response: its answer, where there was one.
  ///   - body: the collected body of that answer.
  ///   - error: the failure.
  ///   - context: where in the call this is.
  /// - Returns: what to do. Default: ``Retry/Action/none``.
  func interceptFailed(
    _ request: ResourceRequest?, response: ResourceResponse?, body: Data?, error: HTTPFetchError<any Error>,
    context: AttemptContext
  ) async -> Retry.Action
}

extension HTTPResourceInterceptor {
  /// The default: what it adds goes to the request's own origin alone.
  public var credentialOrigins: [Origin] { [] }

  /// The default: hooks may wait, so each phase of them runs in a task of its own.
  public var hooksWait: Bool { true }

  /// Passes the result on.
  public func interceptMakeRequest(
    _ result: Result<ResourceRequest, any Error>, context: AttemptContext
  ) async -> Result<ResourceRequest, any Error> {
    KnownHooks.of(Self.self).lacks(.makeRequest)
    return result
  }

  /// The default, which is not called after the first time.
  public func interceptScheduled(_ request: ResourceRequest, context: AttemptContext) async {
    KnownHooks.of(Self.self).lacks(.scheduled)
  }

  /// The default, which is not called after the first time.
  public func interceptSucceeded(
    _ request: ResourceRequest, response: ResourceResponse, body: Data?, context: AttemptContext
  ) async {
    KnownHooks.of(Self.self).lacks(.succeeded)
  }

  /// The default: no opinion. It is not called after the first time.
  public func interceptFailed(
    _ request: ResourceRequest?, response: ResourceResponse?, body: Data?, error: HTTPFetchError<any Error>,
    context: AttemptContext
  ) async -> Retry.Action {
    KnownHooks.of(Self.self).lacks(.failed)
    return .none
  }
}
