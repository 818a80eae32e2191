// SPDX-License-Identifier: Apache-2.0

/// An authenticator whose credentials are for a list of origins. A request that is redirected to one of them gets the
/// credentials again.
package protocol ScopedAuthenticator: RequestAuthenticator, HTTPResourceInterceptor {
  /// The origins that receive the credentials.
  var origins: [Origin] { get }
}

extension ScopedAuthenticator {
  /// The origins of the authenticator.
  public var credentialOrigins: [Origin] { origins }
}
