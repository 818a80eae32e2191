// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
public import Lastro

extension HTTPNetworkStack {
  /// Reads the metadata of an authorization server, for logins of people (RFC 8414, or the same document of OpenID
  /// Connect).
  ///
  /// The document must name exactly the issuer that was asked for, or nothing of it is used. It has at most 256 KiB, and
  /// redirects are not followed. Its endpoints must use `https`; those of a server on this machine may use `http` there.
  ///
  /// - Parameters:
  ///   - issuer: the server's issuer, as its documentation has it, such as `https://login.example.com`.
  ///   - clientID: the identifier under which the program is registered.
  ///   - authentication: the method by which the client authenticates. Default `.none`, for a program that runs on the
  ///     machines of its users.
  /// - Throws: ``OAuth2LoginError``: `wrongIssuer` if the document names another issuer, `unsupported` if there is no
  ///   document or no token endpoint, `misconfigured` if an argument is not allowed.
  public func discoverLogin(
    issuer: String, clientID: String, authentication: OAuth2Client.Authentication = .none
  ) async throws(OAuth2LoginError) -> OAuth2Login {
    let place = try MetadataPlace(issuer, allowsQuery: false)
    var found: ServerMetadata?
    for url in place.serverDocuments where found == nil { found = try await metadata(at: url) }
    guard let document = found else {
      throw .unsupported(
        "\(place.serverDocuments.joined(separator: " and ")) have no document (give the endpoints that the service documents)"
      )
    }
    try document.check("issuer", is: issuer)
    func endpoint(_ name: String) throws(OAuth2LoginError) -> String? {
      try document.endpoint(name, allowsLoopback: place.isLoopback)
    }
    guard let tokenURL = try endpoint("token_endpoint") else {
      throw .unsupported("it has no token endpoint (give the endpoints that the service documents)")
    }
    let (authorization, device) = (
      try endpoint("authorization_endpoint"), try endpoint("device_authorization_endpoint")
    )
    do throws(ConfigurationError) {
      var login = try OAuth2Login(
        client: OAuth2Client(tokenURL: tokenURL, id: clientID, authentication: authentication), stack: self,
        authorizationURL: document.list("code_challenge_methods_supported")?.contains("S256") == false
          ? nil : authorization,
        deviceAuthorizationURL: device, issuer: issuer)
      login.announcesIssuer = document.flag("authorization_response_iss_parameter_supported")
      return login
    } catch {
      throw .misconfigured(error)
    }
  }

  /// Reads which authorization server a protected resource names (RFC 9728), and the metadata of that server.
  ///
  /// - Parameters:
  ///   - resource: the identifier of the resource, such as the URL of an API. Its document must repeat it exactly. Of
  ///     several servers, the first is used.
  ///   - clientID: the identifier under which the program is registered at the authorization server.
  ///   - authentication: the method by which the client authenticates. Default `.none`.
  /// - Throws: ``OAuth2LoginError``, as ``discoverLogin(issuer:clientID:authentication:)`` does, `unsupported` if the
  ///   resource names no server, and `invalidAnswer` if it names one without `https` and is not on this machine itself.
  public func discoverLogin(
    resource: String, clientID: String, authentication: OAuth2Client.Authentication = .none
  ) async throws(OAuth2LoginError) -> OAuth2Login {
    let place = try MetadataPlace(resource, allowsQuery: true)
    let url = place.inserting("oauth-protected-resource")
    guard let document = try await metadata(at: url) else {
      throw .unsupported("\(url.shortened) has no document (give the issuer that the service documents)")
    }
    try document.check("resource", is: resource)
    guard let issuer = document.list("authorization_servers")?.first else {
      throw .unsupported("\(url.shortened) names no authorization server (give the issuer that the service documents)")
    }
    // A remote resource must not make this program send requests to servers of this machine.
    guard place.isLoopback || (try? Origin(issuer))?.scheme == "https" else {
      throw .invalidAnswer("the authorization server that it names is not an https URL")
    }
    return try await discoverLogin(issuer: issuer, clientID: clientID, authentication: authentication)
  }

  /// Reads a document. Returns `nil` if the server does not have it: many respond with a page of their own.
  private func metadata(at url: String) async throws(OAuth2LoginError) -> ServerMetadata? {
    var options = RequestOptions()
    options.operation = "oauth2_metadata"
    options.redirects = RedirectPolicy.none
    options.maximumBodyBytes = 256 * 1024
    do throws(HTTPFetchError<any Error>) {
      let request: ResourceRequest
      do throws(TransportError) {
        request = try ResourceRequest(url: url, headers: ["Accept": "application/json"], options: options)
      } catch {
        throw HTTPFetchError(.noRequest(error))
      }
      return ServerMetadata(try await fetch(RawHTTPResource.raw(request)).value)
    } catch {
      if case .http(let status, _) = error.reason, (300..<500).contains(status.code), ![408, 429].contains(status.code)
      {
        return nil
      }
      throw OAuth2LoginError(error)
    }
  }
}
