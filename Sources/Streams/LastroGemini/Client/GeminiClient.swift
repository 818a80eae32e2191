// SPDX-License-Identifier: Apache-2.0

public import Lastro

/// A client for Gemini servers (gemini://geminiprotocol.net/docs/protocol-specification.gmi, 0.24), over any `Dialer`.
///
/// ```swift
/// let client = GeminiClient(dialer: stack.dialer)
/// let response = try await client.fetch("gemini://geminiprotocol.net/").collected()
/// print(response.status, response.text ?? "")
/// ```
///
/// Each request uses a separate connection, over TLS 1.2 or later, with the host's name in SNI. The client may be used
/// from any thread; its only state is the configuration and the client certificates, which its copies share. Cancelling
/// the task abandons a request at once and closes its connection.
public struct GeminiClient: Sendable {
  /// The dialer that opens the connections.
  package let dialer: any Dialer
  /// The configuration of the client.
  package let configuration: GeminiConfiguration

  /// Creates a client. Default `configuration`: `GeminiConfiguration()`.
  public init(dialer: any Dialer, configuration: GeminiConfiguration = GeminiConfiguration()) {
    self.dialer = dialer
    var configuration = configuration
    configuration.identities = GeminiIdentities(configuration.identities)
    self.configuration = configuration
  }

  /// Adds a client certificate for a host, a port, and all paths below a given one; replaces one with the same scope.
  /// The certificate is never presented outside its scope, even after redirects, and applies to later connections of
  /// this client and its copies. The function may be called from any thread.
  ///
  /// A scope `/app` covers `/app`, `/app?x` and `/app/x`, but not `/apple`; `/` covers the whole host. If several
  /// scopes match, the longest applies. Paths are compared after percent-decoding. A path with an encoded `/` or `\`
  /// matches only the scope `/`, because servers may interpret it either way.
  ///
  /// - Parameters:
  ///   - identity: the certificate and its key.
  ///   - url: the host, port and path of the scope; the query is ignored.
  public func addIdentity(_ identity: TLSOptions.Identity, for url: GeminiURL) {
    configuration.identities.add(identity, for: url)
  }

  /// Fetches a URL, follows redirects and answers prompts according to the configuration, and returns once the header
  /// of the response has arrived. The body is a stream, which ``GeminiResponse/collected(upTo:)`` reads into memory.
  /// Responses with a status other than 2x have no body, and their connection is closed.
  ///
  /// - Throws: ``GeminiError``. Statuses from 40 on are returned, as are prompts, and redirects if
  ///   ``GeminiConfiguration/maximumRedirects`` is 0. A redirect that is not allowed, or that cannot be followed,
  ///   throws an error with stage `redirect`.
  public func fetch(_ url: GeminiURL) async throws(GeminiError) -> GeminiResponse {
    var call = GeminiCall(dialer: dialer, configuration: configuration, url: url)
    return try await call.run()
  }

  /// Fetches a URL, like ``fetch(_:)-(GeminiURL)``; text that is not a URL fails with stage `request`.
  ///
  /// - Throws: ``GeminiError``.
  public func fetch(_ url: String) async throws(GeminiError) -> GeminiResponse { try await fetch(GeminiURL(url)) }
}
