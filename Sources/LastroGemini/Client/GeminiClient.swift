// SPDX-License-Identifier: Apache-2.0

public import Lastro

/// Asks Gemini servers (gemini://geminiprotocol.net/docs/protocol-specification.gmi, 0.24), over any `Dialer`.
///
/// ```swift
/// let client = GeminiClient(dialer: stack.dialer)
/// let response = try await client.fetchData("gemini://geminiprotocol.net/")
/// print(response.status, response.text ?? "")
/// ```
///
/// Each request is a connection of its own, over TLS 1.2 at least, with the host's name in SNI. Any thread may call it;
/// it holds nothing but its configuration. Cancelling the task gives a request up at once and closes its connection.
public struct GeminiClient: Sendable {
  /// Most bytes of a body that is collected, where nothing else is said: 16 MiB.
  public static let defaultMaximumBodyBytes = 16 << 20

  /// What carries the bytes.
  public let dialer: any Dialer
  /// How it behaves.
  public let configuration: GeminiConfiguration

  /// Makes a client. Default `configuration`: `GeminiConfiguration()`.
  public init(dialer: any Dialer, configuration: GeminiConfiguration = GeminiConfiguration()) {
    self.dialer = dialer
    self.configuration = configuration
  }

  /// Asks, follows redirects and answers prompts as the configuration says, and returns once the header of the response
  /// has come. The body is a stream; statuses that are not 2x have none, and their connection is closed.
  ///
  /// - Throws: ``GeminiError``. Statuses from 40 on are returned, as are prompts, and redirects that the policy
  ///   delivers. Redirects that it refuses, or that cannot be followed, are thrown, with stage `redirect`.
  public func fetch(_ request: GeminiRequest) async throws(GeminiError) -> GeminiResponse {
    var call = GeminiCall(dialer: dialer, configuration: configuration, url: request.url)
    return try await call.run()
  }

  /// As ``fetch(_:)-(GeminiRequest)``.
  ///
  /// - Throws: ``GeminiError``.
  public func fetch(_ url: GeminiURL) async throws(GeminiError) -> GeminiResponse {
    try await fetch(GeminiRequest(url: url))
  }

  /// As ``fetch(_:)-(GeminiRequest)``; text that is not a URL fails with stage `request`.
  ///
  /// - Throws: ``GeminiError``.
  public func fetch(_ url: String) async throws(GeminiError) -> GeminiResponse { try await fetch(GeminiURL(url)) }

  /// As ``fetch(_:)-(GeminiRequest)``, and reads the body of a 2x response into memory.
  ///
  /// - Parameters:
  ///   - request: what is asked for.
  ///   - limit: most bytes of the body; more fail with stage `limit`, code `body_too_large`. Default 16 MiB.
  /// - Throws: ``GeminiError``.
  public func fetchData(
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

  /// As ``fetchData(_:upTo:)-(GeminiRequest,_)``; the limit is 16 MiB by default.
  ///
  /// - Throws: ``GeminiError``.
  public func fetchData(
    _ url: GeminiURL, upTo limit: Int = GeminiClient.defaultMaximumBodyBytes
  ) async throws(GeminiError) -> GeminiResponse { try await fetchData(GeminiRequest(url: url), upTo: limit) }

  /// As ``fetchData(_:upTo:)-(GeminiRequest,_)``, with 16 MiB by default; text that is not a URL fails with stage
  /// `request`.
  ///
  /// - Throws: ``GeminiError``.
  public func fetchData(
    _ url: String, upTo limit: Int = GeminiClient.defaultMaximumBodyBytes
  ) async throws(GeminiError) -> GeminiResponse { try await fetchData(GeminiURL(url), upTo: limit) }
}
