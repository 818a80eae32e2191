// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro
import LastroCurl
import LastroEveryday
import LastroTesting

private func inBrowser(
  _ stack: any HTTPNetworkStack, keep: @escaping @Sendable (Secret?) -> Void,
  show: @escaping @Sendable (String) async -> Void
) async throws -> BearerAuthenticator {
  // sample: browser
  let login = try await stack.discoverLogin(issuer: "https://login.example.org", clientID: "notes-cli")
  let token = try await login.authorizeInBrowser(scope: "notes offline_access") { url in
    await show("Open \(url)")
  }
  keep(token.refreshToken)
  let source = try login.client.refreshToken(stack: stack) { next in keep(next) }
  let authenticator = try BearerAuthenticator(
    source: source, origins: [Origin("https://api.example.org")], token: token)
  // end
  return authenticator
}

private func onDevice(_ login: OAuth2Login) async throws -> AccessToken {
  // sample: device
  let device = try await login.authorizeDevice(scope: "notes offline_access")
  print("Open \(device.verificationURL) and enter \(device.userCode)")
  let token = try await device.token()
  // end
  return token
}

private func ofResource(_ stack: any HTTPNetworkStack) async throws -> OAuth2Login {
  // sample: resource
  let login = try await stack.discoverLogin(resource: "https://api.example.org/notes", clientID: "notes-cli")
  // end
  return login
}

private func byHand(_ stack: any HTTPNetworkStack) throws -> OAuth2Login {
  // sample: endpoints
  let client = try OAuth2Client(
    tokenURL: "https://github.com/login/oauth/access_token", id: "Iv1.0123456789abcdef", authentication: .none)
  let login = try OAuth2Login(
    client: client, stack: stack, authorizationURL: "https://github.com/login/oauth/authorize",
    deviceAuthorizationURL: "https://github.com/login/device/code")
  // end
  return login
}

private func refused(_ login: OAuth2Login) async {
  // sample: errors
  do {
    _ = try await login.authorizeDevice().token()
  } catch .refused(error: "access_denied", _) {
    print("You declined.")
  } catch .expired {
    print("That took too long. Try again.")
  } catch {
    print(error)
  }
  // end
}

/// Responds as an authorization server and an API that agree to everything.
private func responses(to request: TransferRequest) -> TransferResponse {
  let issuer = "https://login.example.org"
  let body =
    switch request.head.path ?? "" {
    case "/.well-known/oauth-protected-resource/notes":
      #"{"resource": "https://api.example.org/notes", "authorization_servers": ["\#(issuer)"]}"#
    case "/.well-known/oauth-authorization-server":
      #"""
      {"issuer": "\#(issuer)", "authorization_endpoint": "\#(issuer)/authorize", "token_endpoint": "\#(issuer)/token",
       "device_authorization_endpoint": "\#(issuer)/device"}
      """#
    case "/device":
      #"""
      {"device_code": "GmRhmhcx", "user_code": "WDJB-MJHT", "verification_uri": "https://login.example.org/code",
       "expires_in": 900}
      """#
    default: #"{"access_token": "1", "token_type": "Bearer", "refresh_token": "2"}"#
    }
  return TransferResponse(head: HTTPResponse(status: .ok), body: ResponseBody(Data(body.utf8)))
}

/// Visits the redirect of an address, as the browser of a user who agrees does.
private func visit(_ text: String, _ browser: CurlNetworkStack) async {
  let items = text.split(separator: "?").last?.split(separator: "&") ?? []
  func item(_ name: String) -> String {
    (items.first { $0.hasPrefix(name + "=") }?.dropFirst(name.count + 1)).map(String.init) ?? ""
  }
  let target = item("redirect_uri").replacing("%3A", with: ":").replacing("%2F", with: "/")
  _ = try? await browser.fetch(.text("\(target)?code=1&state=\(item("state"))"))
}

extension Page {
  static let loggingIn = Page("LoggingIn") { stage in
    var configuration = StackConfiguration()
    configuration.timeSource = ManualClock(autoAdvance: true).timeSource
    let stack = TransportNetworkStack(
      transport: ScriptedTransport { request throws(TransportError) in responses(to: request) },
      configuration: configuration)
    var engine = CurlConfiguration()
    engine.connection.proxy = .none
    let browser = try CurlNetworkStack(engine)
    let authenticator = try await inBrowser(
      TransportNetworkStack(
        transport: ScriptedTransport { request throws(TransportError) in responses(to: request) }), keep: { _ in },
      show: { await visit($0, browser) })
    stage.check("the login has led to a token", authenticator.token?.value == "1")
    let login = try await ofResource(stack)
    try await stage.prints("device") { _ = try await onDevice(login) }
    let refusal = ScriptedTransport([
      .perform { request throws(TransportError) in responses(to: request) },
      .respond(status: .badRequest, body: #"{"error": "access_denied"}"#),
    ])
    let other = TransportNetworkStack(transport: refusal, configuration: configuration)
    try await stage.prints("errors") {
      await refused(
        try OAuth2Login(client: login.client, stack: other, deviceAuthorizationURL: "https://login.example.org/device"))
    }
    _ = try byHand(stack)
    await browser.shutDown(cancelling: true)
  }
}
