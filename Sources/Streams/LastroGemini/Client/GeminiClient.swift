// SPDX-License-Identifier: Apache-2.0

public import Lastro

/// A client for Gemini servers (gemini://geminiprotocol.net/docs/protocol-specification.gmi, 0.24), over any `Dialer`.
///
/// ```swift
/// let client = GeminiClient(dialer: stack.dialer)
/// let response = try await client.fetchData("gemini://geminiprotocol.net/")
/// print(response.status, response.text ?? "")
/// ```
///
/// Each request uses a separate connection, over TLS 1.2 or later, with the host's name in SNI. The client may be used
/// from any thread; its only state is the configuration and the client certificates, which its copies share. Cancelling
/// the task abandons a request at once and closes its connection.
public struct GeminiClient: Sendable {
  /// The default limit for a collected body: 16 MiB.
  public static let defaultMaximumBodyBytes = 16 << 20

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

  /// Sends a request, like ``fetch(_:)-(GeminiURL)``.
  package func fetch(_ request: GeminiRequest) async throws(GeminiError) -> GeminiResponse {
    var call = GeminiCall(dialer: dialer, configuration: configuration, url: request.url)
    return try await call.run()
  }

  /// Fetches a URL, follows redirects and answers prompts according to the configuration, and returns once the header
  /// of the response has arrived. The body is a stream. Responses with a status other than 2x have no body, and their
  /// connection is closed.
  ///
  /// - Throws: ``GeminiError``. Statuses from 40 on are returned, as are prompts, and redirects that the policy
  ///   delivers. A redirect that the policy refuses, or that cannot be followed, throws an error with stage `redirect`.
  public func fetch(_ url: GeminiURL) async throws(GeminiError) -> GeminiResponse {
    try await fetch(GeminiRequest(url: url))
  }

  /// Fetches a URL, like ``fetch(_:)-(GeminiURL)``; text that is not a URL fails with stage `request`.
  ///
  /// - Throws: ``GeminiError``.
  public func fetch(_ url: String) async throws(GeminiError) -> GeminiResponse { try await fetch(GeminiURL(url)) }

  /// Sends a request, like ``fetchData(_:upTo:)-(GeminiURL,_)``.
  package func fetchData(
    _ request: GeminiRequest, upTo limit: Int = GeminiClient.defaultMaximumBodyBytes
  ) async throws(GeminiError) -> GeminiResponse {
    var response = try await fetch(request)
    do throws(GeminiError) {
      let data = try await response.body.collect(upTo: limit)
      response.body = GeminiBody(data, isTruncated: response.body.isTruncated)
      return response
    } catch {
      var error = error
      error.url = response.url
      error.header = response.header
      error.redirects = response.redirects
      throw error
    }
  }

  /// Fetches a URL like ``fetch(_:)-(GeminiURL)``, and reads the body of a 2x response into memory.
  ///
  /// - Parameters:
  ///   - url: the URL.
  ///   - limit: the maximum size of the body; a larger body fails with stage `limit`, code `body_too_large`. Default 16
  ///     MiB.
  /// - Throws: ``GeminiError``.
  public func fetchData(
    _ url: GeminiURL, upTo limit: Int = GeminiClient.defaultMaximumBodyBytes
  ) async throws(GeminiError) -> GeminiResponse { try await fetchData(GeminiRequest(url: url), upTo: limit) }

  /// Fetches a URL, like ``fetchData(_:upTo:)-(GeminiURL,_)``, with a default limit of 16 MiB; text that is not a
  /// URL fails with stage `request`.
  ///
  /// - Throws: ``GeminiError``.
  public func fetchData(
    _ url: String, upTo limit: Int = GeminiClient.defaultMaximumBodyBytes
  ) async throws(GeminiError) -> GeminiResponse { try await fetchData(GeminiURL(url), upTo: limit) }
}
