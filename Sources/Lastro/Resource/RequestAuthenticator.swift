// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// Puts credentials on requests, and says what to do when they are refused.
///
/// A type that declares conformance to this and to ``HTTPResourceInterceptor`` is an interceptor without more code. To
/// keep credentials on a redirect to another origin, it says which ones in
/// ``HTTPResourceInterceptor/credentialOrigins``.
public protocol RequestAuthenticator: Sendable {
  /// Authenticates a request. Called for every attempt and every redirect followed; may wait, such as for a token.
  ///
  /// - Throws: when there are no credentials to be had; the attempt fails with it, before anything is sent.
  func authenticate(_ request: ResourceRequest) async throws -> ResourceRequest

  /// Looks at a failure. May wait, such as for a refreshed token, before it answers. Default: ``Retry/Action/none``.
  func evaluateFailedRequest(
    _ request: ResourceRequest?, response: ResourceResponse?, body: Data?, error: HTTPFetchError<any Error>,
    retryState: Retry.State
  ) async -> Retry.Action
}

extension RequestAuthenticator {
  /// The default: no opinion, so that a refusal of the credentials stands.
  public func evaluateFailedRequest(
    _ request: ResourceRequest?, response: ResourceResponse?, body: Data?, error: HTTPFetchError<any Error>,
    retryState: Retry.State
  ) async -> Retry.Action { .none }
}

extension HTTPResourceInterceptor where Self: RequestAuthenticator {
  /// Authenticates a request that was made; passes a failure on.
  public func interceptMakeRequest(
    _ result: Result<ResourceRequest, any Error>, context: AttemptContext
  ) async -> Result<ResourceRequest, any Error> {
    await result.authenticated { try await authenticate($0) }
  }

  /// Asks the authenticator what to do after the failure.
  public func interceptFailed(
    _ request: ResourceRequest?, response: ResourceResponse?, body: Data?, error: HTTPFetchError<any Error>,
    context: AttemptContext
  ) async -> Retry.Action {
    await evaluateFailedRequest(request, response: response, body: body, error: error, retryState: context.retryState)
  }
}

extension Result<ResourceRequest, any Error> {
  /// The request with credentials; a failure stays what it is.
  func authenticated(_ put: (ResourceRequest) async throws -> ResourceRequest) async -> Self {
    guard case .success(let request) = self else { return self }
    do { return .success(try await put(request)) } catch { return .failure(error) }
  }
}
