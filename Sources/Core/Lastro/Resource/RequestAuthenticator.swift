// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

/// Adds credentials to requests, and decides whether to retry when they are refused.
///
/// A type that declares conformance to this and to ``HTTPResourceInterceptor`` is an interceptor without more code. To
/// keep credentials on a redirect to another origin, list that origin in ``HTTPResourceInterceptor/credentialOrigins``.
public protocol RequestAuthenticator: Sendable {
  /// Returns the request with credentials. Called for every attempt and every redirect followed. It may wait, such as
  /// for a token.
  ///
  /// - Throws: an error if no credentials are available; the attempt fails with it, before anything is sent.
  func authenticate(_ request: ResourceRequest) async throws -> ResourceRequest

  /// Decides whether to retry after a failure. It may wait, such as for a refreshed token. Default:
  /// ``Retry/Action/none``.
  func evaluateFailedRequest(
    _ request: ResourceRequest?, response: ResourceResponse?, body: Data?, error: HTTPFetchError<any Error>,
    retryState: Retry.State
  ) async -> Retry.Action
}

extension RequestAuthenticator {
  /// The default: ``Retry/Action/none``, so that refused credentials fail the call.
  public func evaluateFailedRequest(
    _ request: ResourceRequest?, response: ResourceResponse?, body: Data?, error: HTTPFetchError<any Error>,
    retryState: Retry.State
  ) async -> Retry.Action { .none }
}

extension HTTPResourceInterceptor where Self: RequestAuthenticator {
  /// Authenticates the request; returns a failure unchanged.
  public func interceptMakeRequest(
    _ result: Result<ResourceRequest, any Error>, context: AttemptContext
  ) async -> Result<ResourceRequest, any Error> {
    await result.authenticated { try await authenticate($0) }
  }

  /// Returns the authenticator's decision on the failure.
  public func interceptFailed(
    _ request: ResourceRequest?, response: ResourceResponse?, body: Data?, error: HTTPFetchError<any Error>,
    context: AttemptContext
  ) async -> Retry.Action {
    await evaluateFailedRequest(request, response: response, body: body, error: error, retryState: context.retryState)
  }
}

extension Result<ResourceRequest, any Error> {
  /// Returns the request with credentials; returns a failure unchanged.
  func authenticated(_ put: (ResourceRequest) async throws -> ResourceRequest) async -> Self {
    guard case .success(let request) = self else { return self }
    do { return .success(try await put(request)) } catch { return .failure(error) }
  }
}
