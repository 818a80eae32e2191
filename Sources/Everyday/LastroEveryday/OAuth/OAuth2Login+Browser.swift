// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
public import Lastro

extension OAuth2Login {
  /// Logs a user in with the browser of this machine: an authorization code with PKCE (RFC 7636, `S256`), and a redirect to
  /// a port of this machine (RFC 8252 §7.3).
  ///
  /// The port is open from the call of `open` until this method returns, on a loopback address only. The first redirect with
  /// the login's `state`, a random number of 256 bits, ends the wait; any other request gets 400, 404 or 405. A redirect
  /// that names another issuer is refused (RFC 9207), and so is one without an issuer if the server announces it. The
  /// browser gets a short page in plain text. The code is sent once.
  ///
  /// - Parameters:
  ///   - scope: the requested scope: names, separated by spaces. Default: the server's default. Many servers give a refresh
  ///     token only for `offline_access`.
  ///   - parameters: additional parameters of the address, such as `prompt` or `resource`; the browser shows them. Default
  ///     none.
  ///   - redirectURL: the redirect URL that the client is registered with: `http`, with `127.0.0.1` or `[::1]`, and without
  ///     a query. Without a port, or with 80, any free port is used. Default `http://127.0.0.1/callback`.
  ///   - timeout: the time for the user to log in, by the stack's clock. Default 5 minutes.
  ///   - open: shows the address to the user, or opens it in a browser. It runs in a task of its own, which is cancelled when
  ///     the login ends.
  /// - Throws: ``OAuth2LoginError``: `expired` after the timeout, `refused` if the user or the server declined,
  ///   `wrongIssuer`, `cancelled` if the task was cancelled, `misconfigured` if an argument is not allowed or the port
  ///   cannot be opened.
  public func authorizeInBrowser(
    scope: String? = nil, parameters: KeyValuePairs<String, String> = [:],
    redirectURL: String = "http://127.0.0.1/callback", timeout: Duration = .seconds(300),
    open: @escaping @Sendable (_ url: String) async -> Void
  ) async throws(OAuth2LoginError) -> AccessToken {
    guard let authorizationURL else {
      throw .unsupported("it has no authorization endpoint, or one without PKCE and S256 (use a login by a code)")
    }
    try Self.check(parameters)
    let (verifier, state) = (RandomText.make(bytes: 32), RandomText.make(bytes: 32))
    let listener: RedirectListener
    let target: String
    let challenge: String
    do throws(ConfigurationError) {
      guard timeout > .zero else {
        throw ConfigurationError("the timeout of the login is not positive", hint: "give a minute or more")
      }
      challenge = try MessageDigest(of: Array(verifier.utf8)).bytes.base64URL
      let place = try LoopbackURL(redirectURL)
      listener = try RedirectListener(isIPv6: place.isIPv6, port: place.port)
      target = place.text(port: listener.port)
      try listener.start(
        LoginRedirect(
          path: place.path, state: Secret(state), issuer: issuer, announcesIssuer: announcesIssuer))
    } catch {
      throw .misconfigured(error)
    }
    var items = [
      ("response_type", "code"), ("client_id", client.id), ("redirect_uri", target), ("state", state),
      ("code_challenge", challenge), ("code_challenge_method", "S256"),
    ]
    if let scope { items.append(("scope", scope)) }
    let query = (items + parameters.map { ($0.key, $0.value) }).map {
      "\($0.percentEncoded(keeping: .unreserved))=\($1.percentEncoded(keeping: .unreserved))"
    }.joined(separator: "&")
    let url = authorizationURL + (authorizationURL.contains("?") ? "&" : "?") + query
    let opening = Task { await open(url) }
    let outcome = await interruptible(within: timeout, time: stack.ownConfiguration.timeSource) {
      await listener.redirect()
    }
    opening.cancel()
    await listener.close()
    let code: Secret
    switch outcome {
    case .success(let result): code = try result.get()
    case .failure(.limit): throw .expired
    case .failure(.cancelled): throw .cancelled
    }
    let request = OAuth2TokenRequest(
      client: client,
      fields: [
        ("grant_type", "authorization_code"), ("code", code), ("redirect_uri", Secret(target)),
        ("code_verifier", Secret(verifier)),
      ], scope: scope)
    do throws(OAuth2Error) { return try await request.send(over: stack) } catch { throw OAuth2LoginError(error) }
  }
}

/// The URL of a login's redirect on this machine.
private struct LoopbackURL {
  let isIPv6: Bool
  /// The port; 0 for any that is free.
  let port: UInt16
  let path: String

  init(_ url: String) throws(ConfigurationError) {
    guard let target = try? RequestTarget(url), let origin = try? Origin(url), origin.scheme == "http",
      origin.host == "127.0.0.1" || origin.host == "[::1]", target.query == nil, !url.contains("#")
    else {
      throw ConfigurationError(
        "the redirect URL does not lead to a loopback address of this machine, or has a query",
        hint:
          "write http://127.0.0.1/PATH or http://[::1]/PATH, as the client is registered; add a port only if it is fixed"
      )
    }
    (isIPv6, path) = (origin.host == "[::1]", target.path)
    port = origin.port == 80 ? 0 : UInt16(origin.port)
  }

  func text(port: UInt16) -> String { "http://\(isIPv6 ? "[::1]" : "127.0.0.1"):\(port)\(path)" }
}
