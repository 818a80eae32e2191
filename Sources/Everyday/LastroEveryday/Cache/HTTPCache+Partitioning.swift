// SPDX-License-Identifier: Apache-2.0

extension HTTPCache {
  /// The set of requests that may get a response made for another request.
  public enum Partitioning: Sendable, Hashable {
    /// Requests with the same `RequestOptions.principal`; without one, requests with the same credentials: the header
    /// fields that `Redaction.standard` masks, the fields and secrets that the request's options name, and the client
    /// certificate. A response to a request without credentials, or one that is `public`, is for anyone.
    ///
    /// A credential that changes with each request, such as a signature, is represented by the user or key id in it. If
    /// it contains neither, the response is not stored unless it is `public`.
    case byPrincipal
    /// Any request: for a program with a single principal.
    case common
    /// Any request, as in a cache with many users (RFC 9111 §3.5). Nothing `private` is stored, and no response to a
    /// request with credentials unless it is `public`, `must-revalidate` or has `s-maxage`, which takes precedence over
    /// `max-age`. As in any shared cache, `Cookie` does not count as a credential: servers send `Vary: Cookie`.
    case shared
  }
}
