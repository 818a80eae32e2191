// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import LastroCurl
import LastroEveryday
import LastroSupport
import LastroTesting
import PeerSupport
import TestSupport
import Testing

@Suite("Logins at an authorization server of Authlib", .peers(.oauth), .timeLimit(.minutes(15)))
struct LoginPeerTests {
  private struct Me: Decodable, Sendable {
    var user: String
    var scope: String
  }

  private static func issuer() throws -> String { "http://127.0.0.1:\(try Peers.oauth.port)" }

  private static func stack(_ configuration: StackConfiguration = .patient) throws -> CurlNetworkStack {
    var engine = CurlConfiguration()
    engine.connection.proxy = .none
    return try CurlNetworkStack(engine, configuration: configuration)
  }

  /// Uses a token at the API, renews it with its refresh token, and uses the new one.
  private func use(_ token: AccessToken, of login: OAuth2Login) async throws {
    let issuer = try Self.issuer()
    let authenticator = try BearerAuthenticator(
      source: login.client.refreshToken(), origins: [Origin(issuer)], token: token)
    var configuration = StackConfiguration.patient
    configuration.interceptors = [authenticator]
    let stack = try Self.stack(configuration)
    let me = try await stack.fetch(.get(issuer + "/me", as: Me.self)).value
    #expect(me.user == "ann" && me.scope == "read")
    authenticator.replace(
      with: try AccessToken("spent", refreshToken: token.refreshToken, scope: token.scope))
    #expect(try await stack.fetch(.get(issuer + "/me", as: Me.self)).value.user == "ann")
    #expect(authenticator.token?.value != token.value && authenticator.token?.refreshToken != token.refreshToken)
    await stack.shutDown(cancelling: true)
  }

  /// Opens an address as a browser does, which follows the redirect to the port of the login.
  private static func browse(_ url: String, over browser: CurlNetworkStack) async -> String {
    (try? await browser.fetch(.text(url)).value) ?? "no page"
  }

  @Test("A code with PKCE leads to a token, which the refresh token renews", arguments: ["127.0.0.1", "[::1]"])
  func browser(host: String) async throws {
    let (stack, browser) = (try Self.stack(), try Self.stack())
    let login = try await stack.discoverLogin(issuer: Self.issuer(), clientID: "cli")
    let page = OneAnswer<String>()
    let token = try await login.authorizeInBrowser(scope: "read", redirectURL: "http://\(host)/callback") { url in
      // The login cancels this closure when it ends, but not the browser.
      Task { page.give(await Self.browse(url, over: browser)) }
    }
    #expect(await page.value().contains("You can close this page."))
    try await use(token, of: login)
    for stack in [stack, browser] { await stack.shutDown(cancelling: true) }
  }

  @Test("A user who declines in the browser is a refusal")
  func declines() async throws {
    let (stack, browser) = (try Self.stack(), try Self.stack())
    let login = try await stack.discoverLogin(resource: Self.issuer() + "/api", clientID: "cli")
    let error = try await #require(throws: OAuth2LoginError.self) {
      try await login.authorizeInBrowser(parameters: ["login_hint": "declines"]) { url in
        _ = await Self.browse(url, over: browser)
      }
    }
    guard case .refused("access_denied", _) = error else { throw error }
    for stack in [stack, browser] { await stack.shutDown(cancelling: true) }
  }

  @Test("A code on another device leads to a token after slow_down, or to a refusal", arguments: [true, false])
  func device(isGranted: Bool) async throws {
    let (browser, clock, polls) = (try Self.stack(), ManualClock(autoAdvance: true), Lock(0))
    let issuer = try Self.issuer()
    let address = Lock("")
    var configuration = StackConfiguration.patient
    configuration.timeSource = clock.timeSource
    // The user decides after the second poll, to which the server responds with slow_down.
    let user = Hooks(failed: { failure in
      guard failure.request?.url == issuer + "/token",
        polls.withLock({ polls in
          polls += 1
          return polls == 2
        })
      else { return .none }
      let url = address.withLock { $0 } + (isGranted ? "" : "&decline")
      #expect(await Self.browse(url, over: browser) == "decided")
      return .none
    })
    configuration.interceptors = [user]
    let stack = try Self.stack(configuration)
    let login = try await stack.discoverLogin(issuer: issuer, clientID: "cli")
    let device = try await login.authorizeDevice(scope: "read")
    #expect(device.verificationURL == issuer + "/device" && device.userCode.utf8.count == 9)
    address.withLock { $0 = device.verificationURL + "?user_code=\(device.userCode)" }
    if isGranted {
      try await use(try await device.token(), of: login)
    } else {
      let error = try await #require(throws: OAuth2LoginError.self) { try await device.token() }
      guard case .refused("access_denied", _) = error else { throw error }
    }
    #expect(clock.sleeps == [1, 1, 6].map { .seconds($0) })
    for stack in [stack, browser] { await stack.shutDown(cancelling: true) }
  }

  @Test("An unknown client is refused")
  func unknownClient() async throws {
    let stack = try Self.stack()
    let login = try await stack.discoverLogin(issuer: Self.issuer(), clientID: "stranger")
    let error = try await #require(throws: OAuth2LoginError.self) { try await login.authorizeDevice() }
    guard case .refused("invalid_client", _) = error else { throw error }
    await stack.shutDown(cancelling: true)
  }
}
