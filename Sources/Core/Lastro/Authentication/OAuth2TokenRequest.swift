// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials
import HTTPTypes

/// A single exchange with a token endpoint, or with another endpoint that authenticates the client in the same way.
package struct OAuth2TokenRequest {
  private let client: OAuth2Client
  /// The fields of the body, without the client's credentials.
  private let fields: [(String, Secret)]
  /// The scope of the token if the response does not name one (RFC 6749 §5.1).
  private let scope: String?
  private let url: String

  private static let maximumAnswerBytes = 256 * 1024

  /// Makes a request. The URL is that of the endpoint, by default the client's token endpoint.
  package init(client: OAuth2Client, fields: [(String, Secret)], scope: String?, url: String? = nil) {
    (self.client, self.fields, self.scope, self.url) = (client, fields, scope, url ?? client.tokenURL)
  }

  /// Requests a token with a single request.
  ///
  /// - Parameter stack: the stack to use. Default: the stack of the call whose hook the current task runs.
  package func send(over stack: (any HTTPNetworkStack)?) async throws(OAuth2Error) -> AccessToken {
    try await exchange(over: stack).answer.token(scope: scope)
  }

  /// Sends a single request to an endpoint whose response is not a token, and returns the body of that response.
  package func body(over stack: (any HTTPNetworkStack)?) async throws(OAuth2Error) -> Data {
    try await exchange(over: stack).body
  }

  private func exchange(
    over stack: (any HTTPNetworkStack)?
  ) async throws(OAuth2Error) -> (body: Data, answer: OAuth2TokenAnswer) {
    guard let stack = stack ?? TransportNetworkStack.calling else {
      throw .fetch(
        HTTPFetchError(
          .noRequest(
            TransportError.refused(
              .invalidOption, "the token source has no stack and was called outside of a stack's call",
              hint: "give it a stack, or use it through a BearerAuthenticator of a stack"))))
    }
    let answer: Fetched<Data, ResourceResponse>
    do throws(HTTPFetchError<any Error>) {
      answer = try await stack.fetch(RawHTTPResource(baseRequestMaking: BaseRequestMaking { [self] in try request() }))
    } catch {
      if case .http(let status, _) = error.reason, let body = error.body {
        try OAuth2TokenAnswer(body)?.throwRefusal(status: status, hiding: secrets)
      }
      throw .fetch(error.withoutBody)
    }
    guard let parsed = OAuth2TokenAnswer(answer.value) else { throw .invalidAnswer("its body is not a JSON object") }
    // Some endpoints send an error with status 200.
    if parsed.accessToken == nil { try parsed.throwRefusal(status: answer.response.status, hiding: secrets) }
    return (answer.value, parsed)
  }

  private func request() throws(TransportError) -> ResourceRequest {
    var options = RequestOptions()
    options.operation = "oauth2_token"
    options.secrets = Set(secrets.map { Secret($0) })
    // Neither an Idempotency-Key that an interceptor adds nor a redirect may cause the secrets to be sent a second
    // time.
    options.idempotency = .notIdempotent
    options.redirects = RedirectPolicy.none
    options.maximumBodyBytes = Self.maximumAnswerBytes
    var fields = fields.map { ($0, $1.reveal()) }
    var headers: RawHeaders = [.accept: "application/json"]
    switch client.authentication {
    case .basic(let secret):
      headers[.authorization] = "Basic " + basic(secret)
    case .body(let secret): fields += [("client_id", client.id), ("client_secret", secret.reveal())]
    case .none: fields += [("client_id", client.id)]
    }
    return try ResourceRequest(
      method: .post, url: url, headers: headers, body: .form(fields), options: options)
  }

  /// The secrets that an endpoint could repeat in an error.
  private var secrets: [String] {
    let harmless: Set = ["grant_type", "scope", "redirect_uri"]
    let sent = fields.filter { !harmless.contains($0.0) }.map(\.1) + [client.authentication.secret].compactMap(\.self)
    let texts = sent.filter { !$0.isEmpty }.map { $0.reveal() }
    // Sort them by length, the longest first, so that a shorter secret does not mask part of a longer one.
    return (texts + texts.map(\.formEncoded) + [client.authentication.secret.map(basic)].compactMap(\.self))
      .sorted { $0.utf8.count > $1.utf8.count }
  }

  /// Returns the credentials that follow `Basic` (RFC 6749 §2.3.1).
  private func basic(_ secret: Secret) -> String {
    let pair = client.id.formEncoded + ":" + secret.reveal().formEncoded
    return Data(pair.utf8).base64EncodedString()
  }

  /// Checks the parameters that the application adds.
  static func check(_ parameters: [(String, Secret)]) throws(ConfigurationError) {
    for (name, _) in parameters {
      guard !name.isEmpty, !reserved.contains(name) else {
        throw ConfigurationError(
          name.isEmpty
            ? "the name of a parameter of the token request is empty" : "\(name) cannot be an extra parameter",
          hint: "set grant_type, scope, refresh_token and the client's credentials through their own parameters")
      }
    }
  }

  static let reserved: Set<String> = ["grant_type", "scope", "refresh_token", "client_id", "client_secret"]
}
