// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import LastroSupport
import LastroTesting
import PeerSupport
import TestSupport
import Testing

@testable import LastroEveryday

@Suite("Logins in the browser of this machine", .timeLimit(.minutes(15)))
struct BrowserLoginTests {
  /// The address that the user opens, with its query items.
  private struct Address: Sendable {
    let url: String
    let items: [String: String]
    /// The port of the redirect.
    let port: Int

    init(_ url: String) throws {
      let parts = try #require(URLComponents(string: url))
      self.url = url
      items = Dictionary(uniqueKeysWithValues: (parts.queryItems ?? []).map { ($0.name, $0.value ?? "") })
      port = try #require(URLComponents(string: items["redirect_uri"] ?? "")?.port)
    }

    var state: String { items["state"] ?? "" }

    /// Sends the request of a browser to the port, and returns the response.
    func visit(_ target: String, method: String = "GET") throws -> String {
      try Loopback.exchange(port: port, sending: "\(method) \(target) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\r\n")
    }

    func redirect(_ query: String) throws -> String { try visit("/callback?\(query)&state=\(state)") }
  }

  private static let token = ScriptedTransport.Step.respond(
    status: .ok, body: #"{"access_token": "t", "token_type": "Bearer", "refresh_token": "r", "expires_in": 60}"#)

  private func login(
    _ transport: ScriptedTransport, time: TimeSource = .continuous, issuer: String? = nil
  ) throws -> OAuth2Login {
    var configuration = StackConfiguration()
    configuration.timeSource = time
    return try OAuth2Login(
      client: OAuth2Client(tokenURL: "https://login.example/token", id: "cli", authentication: .none),
      stack: TransportNetworkStack(transport: transport, configuration: configuration),
      authorizationURL: "https://login.example/authorize?tenant=7", issuer: issuer)
  }

  /// Runs a login with a user who visits the address, and returns the result and the address.
  private func run(
    _ login: OAuth2Login, _ user: @escaping @Sendable (Address) throws -> Void
  ) async throws -> (Result<AccessToken, OAuth2LoginError>, Address) {
    let opened = OneAnswer<String>()
    let task = Task {
      await Result { () async throws(OAuth2LoginError) in
        try await login.authorizeInBrowser(scope: "read", parameters: ["prompt": "consent"]) { opened.give($0) }
      }
    }
    let address = try Address(await opened.value())
    try user(address)
    return (await task.value, address)
  }

  private static func form(_ request: TransferRequest) -> [String: String] {
    guard case .bytes(let data) = request.resourceRequest.body.source else { return [:] }
    let items = URLComponents(string: "?" + String(decoding: data, as: UTF8.self))?.queryItems ?? []
    return Dictionary(uniqueKeysWithValues: items.map { ($0.name, $0.value ?? "") })
  }

  @Test("The code of the redirect is exchanged once, with the verifier of the challenge, and the port is closed")
  func success() async throws {
    let transport = ScriptedTransport([Self.token])
    let (result, address) = try await run(login(transport)) { address in
      let page = try address.redirect("code=c0d3")
      #expect(page.hasPrefix("HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\n"))
      #expect(page.contains("Referrer-Policy: no-referrer\r\n") && page.hasSuffix("You can close this page."))
    }
    #expect(try result.get().refreshToken == "r")
    #expect(!Loopback.accepts(port: address.port))
    #expect(address.url.hasPrefix("https://login.example/authorize?tenant=7&response_type=code&client_id=cli&"))
    #expect(address.items["scope"] == "read" && address.items["prompt"] == "consent")
    #expect(address.items["code_challenge_method"] == "S256" && address.state.utf8.count == 43)
    let form = try #require(transport.requests.map(Self.form).first)
    #expect(transport.requests.count == 1 && form["grant_type"] == "authorization_code" && form["code"] == "c0d3")
    #expect(form["redirect_uri"] == address.items["redirect_uri"])
    let verifier = try #require(form["code_verifier"])
    #expect(verifier.utf8.count == 43)
    #expect(try MessageDigest(of: Data(verifier.utf8)).bytes.base64URL == address.items["code_challenge"])
  }

  @Test("Requests that are not the redirect get a status of their own, and do not end the wait")
  func strangers() async throws {
    let (result, _) = try await run(login(ScriptedTransport([Self.token]))) { address in
      let requests = [
        ("404", try address.visit("/favicon.ico")),
        ("404", try address.visit("/callback/?code=c&state=\(address.state)")),
        ("405", try address.visit("/callback?code=c&state=\(address.state)", method: "POST")),
        ("400", try address.visit("/callback?code=evil&state=\(String(repeating: "A", count: 43))")),
        ("400", try address.visit("/callback?code=evil")), ("400", try address.redirect("code=evil&state=x")),
        ("400", try Loopback.exchange(port: address.port, sending: "\u{16}\u{3}\u{1}\r\n\r\n")),
        (
          "431",
          try Loopback.exchange(
            port: address.port, sending: "GET /callback?code=c HTTP/1.1\r\nX: " + String(repeating: "x", count: 20_000))
        ),
      ]
      for (status, response) in requests {
        #expect(response.hasPrefix("HTTP/1.1 \(status) ") && !response.contains("evil"))
        #expect(response.contains("\r\nAllow: GET\r\n") == (status == "405"))
      }
      _ = try address.redirect("code=good")
    }
    #expect(try result.get().value == "t")
  }

  @Test("Slow clients, more than the port serves at once, do not delay the redirect")
  func slowClients() async throws {
    let (result, _) = try await run(login(ScriptedTransport([Self.token]))) { address in
      let slow = try (0..<40).map { number in
        let client = try LoopbackClient(to: .port(UInt16(address.port)))
        try client.send(String("GET /callback?code=evil".prefix(number)))
        return client
      }
      _ = try address.redirect("code=good")
      // The port closes them all.
      for client in slow { #expect(client.receiveAll().text.isEmpty) }
    }
    #expect(try result.get().value == "t")
  }

  @Test("A redirect whose bytes arrive one at a time is read")
  func slowBytes() async throws {
    let (result, _) = try await run(login(ScriptedTransport([Self.token]))) { address in
      let client = try LoopbackClient(to: .port(UInt16(address.port)))
      for byte in "GET /callback?code=c&state=\(address.state) HTTP/1.1\r\n\r\n".utf8 { try client.send([byte]) }
      #expect(client.receiveAll().text.hasPrefix("HTTP/1.1 200"))
    }
    #expect(try result.get().value == "t")
  }

  @Test("An error in the redirect, two codes and another issuer end the login before a token request")
  func refusals() async throws {
    for (query, wanted) in [
      ("error=access_denied&error_description=no", "the login was refused with access_denied: no ("),
      ("code=a&code=b", "the server's answer to the login is invalid: its redirect has code more than once ("),
      (
        "code=a&iss=https://evil.example",
        "the answer is from https://evil.example, and https://login.example was expected ("
      ),
    ] {
      let transport = ScriptedTransport()
      let (result, address) = try await run(login(transport, issuer: "https://login.example")) { address in
        let page = try address.redirect(query)
        #expect(page.hasSuffix("The program shows the reason. You can close this page."))
      }
      let error = #expect(throws: OAuth2LoginError.self) { try result.get() }
      #expect(error.map { "\($0)".hasPrefix(wanted) } == true)
      #expect(transport.requests.isEmpty && !Loopback.accepts(port: address.port))
    }
  }

  @Test("A refusal of the token endpoint is the login's error, and masks the code")
  func tokenRefusal() async throws {
    let refusal = ScriptedTransport.Step.respond(
      status: .badRequest, body: #"{"error": "invalid_grant", "error_description": "c0d3 is spent"}"#)
    let transport = ScriptedTransport([refusal])
    let (result, _) = try await run(login(transport)) { _ = try $0.redirect("code=c0d3") }
    let error = #expect(throws: OAuth2LoginError.self) { try result.get() }
    guard case .refused("invalid_grant", "*** is spent") = error else {
      Issue.record("another error: \(String(describing: error))")
      return
    }
    #expect(transport.requests.count == 1)
  }

  @Test("The port is closed when the time is over, and when the task is cancelled", arguments: [false, true])
  func ends(isCancelled: Bool) async throws {
    let clock = ManualClock()
    let login = try login(ScriptedTransport(), time: clock.timeSource)
    let (opened, closed) = (OneAnswer<String>(), OneAnswer<Void>())
    let task = Task {
      await Result { () async throws(OAuth2LoginError) in
        try await login.authorizeInBrowser(timeout: .seconds(60)) { url in
          opened.give(url)
          // A browser that does not return is cancelled with the login.
          await withTaskCancellationHandler {
            await closed.wait()
          } onCancel: {
            closed.give(())
          }
        }
      }
    }
    let address = try Address(await opened.value())
    try await clock.waitForLimits(count: 1)
    #expect(Loopback.accepts(port: address.port))
    if isCancelled { task.cancel() } else { clock.advance(by: .seconds(60)) }
    let error = await #expect(throws: OAuth2LoginError.self) { try await task.value.get() }
    switch error {
    case .cancelled: #expect(isCancelled)
    case .expired: #expect(!isCancelled)
    default: Issue.record("another error: \(String(describing: error))")
    }
    #expect(!Loopback.accepts(port: address.port))
    #expect(closed.isGiven)
  }

  @Test("A fixed port is used as it is, again and again, and one in use is an error")
  func fixedPort() async throws {
    let port = try Loopback.freePort()
    for _ in 0..<2 {
      let opened = OneAnswer<String>()
      let login = try login(ScriptedTransport([Self.token]))
      let task = Task {
        try await login.authorizeInBrowser(redirectURL: "http://127.0.0.1:\(port)/") { opened.give($0) }
      }
      let address = try Address(await opened.value())
      #expect(address.port == port && address.items["redirect_uri"] == "http://127.0.0.1:\(port)/")
      let error = try await #require(throws: OAuth2LoginError.self) {
        try await login.authorizeInBrowser(redirectURL: "http://127.0.0.1:\(port)/") { _ in }
      }
      guard case .misconfigured(let cause) = error else { throw error }
      #expect(cause.message.contains("\(port)") && cause.hint != nil)
      _ = try address.visit("/?code=c&state=\(address.state)")
      #expect(try await task.value.value == "t")
    }
  }

  @Test(
    "Redirect URLs that do not lead to a loopback address are refused",
    arguments: [
      "http://localhost/callback", "https://127.0.0.1/callback", "http://0.0.0.0/", "http://192.0.2.1/",
      "http://127.0.0.2/",
      "http://127.0.0.1/?a", "http://127.0.0.1/#a", "myapp:/callback", "",
    ])
  func redirectURLs(url: String) async throws {
    let login = try login(ScriptedTransport())
    let opened = OneAnswer<String>()
    let error = try await #require(throws: OAuth2LoginError.self) {
      try await login.authorizeInBrowser(redirectURL: url) { opened.give($0) }
    }
    guard case .misconfigured(let cause) = error else { throw error }
    #expect(cause.hint != nil && !opened.isGiven)
    let late = try await #require(throws: OAuth2LoginError.self) {
      try await login.authorizeInBrowser(timeout: .zero) { opened.give($0) }
    }
    guard case .misconfigured = late else { throw late }
  }

  @Test("Endpoints without https are refused")
  func endpoints() throws {
    let stack = TransportNetworkStack(transport: ScriptedTransport())
    let client = try OAuth2Client(tokenURL: "https://login.example/token", id: "cli", authentication: .none)
    for url in ["http://login.example/", "login", "https://login.example/#a"] {
      let one = #expect(throws: ConfigurationError.self) {
        try OAuth2Login(client: client, stack: stack, authorizationURL: url)
      }
      let other = #expect(throws: ConfigurationError.self) {
        try OAuth2Login(client: client, stack: stack, deviceAuthorizationURL: url)
      }
      #expect(one?.hint != nil && other?.hint != nil)
    }
  }
}
