// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

/// Adapts requests, observes their outcomes, and advises whether to retry a failure.
///
/// For every event, the stack's interceptors run first, then the resource's, each in array order. The hooks of a call
/// run one after another, on the concurrent pool or on the executor that the caller's task prefers. Different calls run
/// concurrently.
///
/// A hook may wait, such as for a token. If the caller cancels or a time limit passes while a hook runs, its task is
/// cancelled. The call continues at once, without the hook's result. The hook may then still be running when the next
/// hook is called. Hooks that are called for the outcome after that have one second to return.
///
/// A hook that a type does not implement costs nothing: the default implementation is usually called once for each
/// type, and then no more.
///
/// To wrap a whole exchange, wrap the ``Transport`` instead.
///
/// ```swift
/// struct TraceInterceptor: HTTPResourceInterceptor {
///   func adapt(_ request: inout ResourceRequest, context: AttemptContext) async throws {
///     try request.setHeader("X-Request-ID", UUID().uuidString)
///   }
/// }
/// ```
public protocol HTTPResourceInterceptor: Sendable {
  /// The origins to which this interceptor may send credentials even after a redirect from another origin.
  ///
  /// After a redirect to another origin, credential fields that an interceptor adds are dropped, unless the new origin
  /// is in this list. Default: none.
  var credentialOrigins: [Origin] { get }

  /// Whether a hook may suspend for long. Default true. Return false if no hook ever does: hooks then run on the call's
  /// own task, which is cheaper, and nothing can interrupt them.
  ///
  /// A hook that may suspend starts on the call's thread; the call can stop waiting for it once it first suspends. A
  /// hook that blocks its thread delays the call, even if this is true; Swift's concurrent pool forbids blocking
  /// anyway.
  var hooksWait: Bool { get }

  /// Changes a request before it is passed to the transport. Called once for each attempt, and once more for every
  /// redirect followed, unless the request could not be made. Default: changes nothing.
  ///
  /// A type that implements ``interceptMakeRequest(_:context:)`` is asked by that hook alone.
  ///
  /// - Throws: an error with which the attempt fails before anything is sent.
  func adapt(_ request: inout ResourceRequest, context: AttemptContext) async throws

  /// Adapts the result of making a request. Called once for each attempt, and once more for every redirect followed.
  /// Implement ``adapt(_:context:)`` instead, unless the interceptor must see failures, too.
  ///
  /// The request of a redirect is made from the previous request, which this interceptor has already adapted. To avoid
  /// duplicate header fields, set them instead of adding them (``ResourceRequest/setHeader(_:_:)``), or check
  /// ``AttemptContext/hop``.
  ///
  /// - Parameters:
  ///   - result: the request from the resource or the previous interceptor, or its failure. A hook may turn a failure
  ///     into a request.
  ///   - context: the state of the call.
  /// - Returns: the result that is passed to the next interceptor. Default: `result`, with the request that
  ///   ``adapt(_:context:)`` has changed.
  func interceptMakeRequest(
    _ result: Result<ResourceRequest, any Error>, context: AttemptContext
  ) async -> Result<ResourceRequest, any Error>

  /// Called when a request, final and checked, is about to be passed to the transport. Default: does nothing.
  func interceptScheduled(_ request: ResourceRequest, context: AttemptContext) async

  /// Called when an attempt succeeds: its status is 200–299, or 304 for a conditional request, and the body of a typed
  /// resource was decoded. Default: does nothing.
  ///
  /// - Parameters:
  ///   - request: the last request, after redirects.
  ///   - response: the response to that request.
  ///   - body: the collected body; `nil` if it is streamed.
  ///   - context: the state of the call.
  func interceptSucceeded(
    _ request: ResourceRequest, response: ResourceResponse, body: Data?, context: AttemptContext
  ) async

  /// Called when an attempt fails, even if no request was scheduled. Returns whether to retry.
  ///
  /// Every interceptor is asked, regardless of the decisions before it, and even if no retry is possible.
  ///
  /// - Parameters:
  ///   - request: the last request; `nil` if none could be made.
  ///   - response: the response to that request, if there was one.
  ///   - body: the collected body of that response.
  ///   - error: the failure.
  ///   - context: the state of the call.
  /// - Returns: the action to take. Default: ``Retry/Action/none``.
  func interceptFailed(
    _ request: ResourceRequest?, response: ResourceResponse?, body: Data?, error: HTTPFetchError<any Error>,
    context: AttemptContext
  ) async -> Retry.Action
}

extension HTTPResourceInterceptor {
  /// The default: none, so that credentials are sent only to the request's own origin.
  public var credentialOrigins: [Origin] { [] }

  /// The default: true, so that each phase of the hooks runs in a task of its own.
  public var hooksWait: Bool { true }

  /// The default: changes nothing. It is not called again after the first time.
  public func adapt(_ request: inout ResourceRequest, context: AttemptContext) async throws {
    KnownHooks.of(Self.self).lacks(.makeRequest)
  }

  /// The default: passes the request to ``adapt(_:context:)``, and a failure through.
  public func interceptMakeRequest(
    _ result: Result<ResourceRequest, any Error>, context: AttemptContext
  ) async -> Result<ResourceRequest, any Error> {
    guard case .success(var request) = result else { return result }
    do {
      try await adapt(&request, context: context)
    } catch {
      return .failure(error)
    }
    return .success(request)
  }

  /// The default: does nothing. It is not called again after the first time.
  public func interceptScheduled(_ request: ResourceRequest, context: AttemptContext) async {
    KnownHooks.of(Self.self).lacks(.scheduled)
  }

  /// The default: does nothing. It is not called again after the first time.
  public func interceptSucceeded(
    _ request: ResourceRequest, response: ResourceResponse, body: Data?, context: AttemptContext
  ) async {
    KnownHooks.of(Self.self).lacks(.succeeded)
  }

  /// The default: returns ``Retry/Action/none``. It is not called again after the first time.
  public func interceptFailed(
    _ request: ResourceRequest?, response: ResourceResponse?, body: Data?, error: HTTPFetchError<any Error>,
    context: AttemptContext
  ) async -> Retry.Action {
    KnownHooks.of(Self.self).lacks(.failed)
    return .none
  }
}

/// An interceptor that passes every event on to another.
package protocol ForwardingInterceptor: HTTPResourceInterceptor {
  /// The interceptor that receives the events.
  var base: any HTTPResourceInterceptor { get }
}

extension ForwardingInterceptor {
  /// The credential origins of ``base``.
  public var credentialOrigins: [Origin] { base.credentialOrigins }

  /// Whether a hook of the other interceptor may suspend for long.
  public var hooksWait: Bool { base.hooksWait }

  /// Passes the result through the other interceptor.
  public func interceptMakeRequest(
    _ result: Result<ResourceRequest, any Error>, context: AttemptContext
  ) async -> Result<ResourceRequest, any Error> {
    await base.interceptMakeRequest(result, context: context)
  }

  /// Passes the event on.
  public func interceptScheduled(_ request: ResourceRequest, context: AttemptContext) async {
    await base.interceptScheduled(request, context: context)
  }

  /// Passes the event on.
  public func interceptSucceeded(
    _ request: ResourceRequest, response: ResourceResponse, body: Data?, context: AttemptContext
  ) async {
    await base.interceptSucceeded(request, response: response, body: body, context: context)
  }

  /// Returns the action of the other interceptor.
  public func interceptFailed(
    _ request: ResourceRequest?, response: ResourceResponse?, body: Data?, error: HTTPFetchError<any Error>,
    context: AttemptContext
  ) async -> Retry.Action {
    await base.interceptFailed(request, response: response, body: body, error: error, context: context)
  }
}
