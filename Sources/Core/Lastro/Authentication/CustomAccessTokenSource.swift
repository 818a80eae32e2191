// SPDX-License-Identifier: Apache-2.0

/// A source that gets access tokens from a closure. It remembers nothing, so it has nothing to forget.
package struct CustomAccessTokenSource: AccessTokenSource {
  private let get: @Sendable (AccessToken?) async throws -> AccessToken

  /// Wraps a closure; see ``AccessTokenSource/token(replacing:)``.
  package init(_ get: @escaping @Sendable (_ old: AccessToken?) async throws -> AccessToken) { self.get = get }

  /// Calls the closure.
  ///
  /// - Throws: the errors of the closure.
  package func token(replacing old: AccessToken?) async throws -> AccessToken { try await get(old) }
}
