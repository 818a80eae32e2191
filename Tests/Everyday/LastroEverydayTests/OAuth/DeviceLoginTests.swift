// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import LastroTesting
import TestSupport
import Testing

@testable import LastroEveryday

@Suite("Logins by a code on another device", .timeLimit(.minutes(15)))
struct DeviceLoginTests {
  private typealias Step = ScriptedTransport.Step

  private static let answer = #"""
    {"device_code": "d3v1c3", "user_code": "WDJB-MJHT", "verification_uri": "https://login.example/device",
     "verification_uri_complete": "https://login.example/device?user_code=WDJB-MJHT", "expires_in": 60, "interval": 5}
    """#
  private static let token = Step.respond(
    status: .ok, body: #"{"access_token": "t", "token_type": "Bearer", "refresh_token": "r"}"#)

  private static func failing(_ word: String, _ status: HTTPResponse.Status = .badRequest) -> Step {
    .respond(status: status, body: #"{"error": "\#(word)"}"#)
  }

  private static let lost = Step.fail(
    TransportError(
      stage: .timeout, code: .attemptTimeout, message: "too slow", hint: "wait", requestSent: true))

  /// Returns a login whose server responds by a script, and the clock, which advances with each sleep.
  private func login(_ steps: Step...) throws -> (OAuth2Login, ScriptedTransport, ManualClock) {
    let (transport, clock) = (ScriptedTransport(steps), ManualClock(autoAdvance: true))
    var configuration = StackConfiguration()
    configuration.timeSource = clock.timeSource
    let stack = TransportNetworkStack(transport: transport, configuration: configuration)
    let client = try OAuth2Client(tokenURL: "https://login.example/token", id: "cli", authentication: .none)
    return (
      try OAuth2Login(client: client, stack: stack, deviceAuthorizationURL: "https://login.example/code"), transport,
      clock
    )
  }

  private static func form(_ request: TransferRequest) -> String {
    guard case .bytes(let data) = request.resourceRequest.body.source else { return "" }
    return String(decoding: data, as: UTF8.self)
  }

  @Test("The user's code is shown, and polls follow at the interval until there is a token")
  func success() async throws {
    let (login, transport, clock) = try login(
      .respond(status: .ok, body: Self.answer), Self.failing("authorization_pending"), Self.failing("slow_down"),
      Self.failing("authorization_pending"), Self.token)
    let device = try await login.authorizeDevice(scope: "read all", parameters: ["audience": "api"])
    #expect(device.userCode == "WDJB-MJHT" && device.verificationURL == "https://login.example/device")
    #expect(device.completeVerificationURL?.hasSuffix("=WDJB-MJHT") == true && device.expiresIn == .seconds(60))
    let token = try await device.token()
    #expect(token.value == "t" && token.refreshToken == "r" && token.scope == "read all")
    #expect(clock.sleeps == [5, 5, 10, 10].map { .seconds($0) })
    let forms = transport.requests.map(Self.form)
    #expect(forms[0] == "scope=read+all&audience=api&client_id=cli")
    let poll = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Adevice_code&device_code=d3v1c3&client_id=cli"
    #expect(forms.dropFirst().allSatisfy { $0 == poll } && forms.count == 5)
  }

  @Test("A poll without a response is repeated after twice the interval, and a response restores the interval")
  func backOff() async throws {
    let (login, _, clock) = try login(
      .respond(status: .ok, body: Self.answer), Self.lost, Self.lost, Self.failing("authorization_pending"),
      .respond(status: .serviceUnavailable, headers: [.retryAfter: "12"], body: ""), Self.token)
    _ = try await login.authorizeDevice().token()
    #expect(clock.sleeps == [5, 10, 20, 5, 12].map { .seconds($0) })
  }

  @Test("Polls keep to an interval above a minute")
  func longInterval() async throws {
    let answer = Self.answer.replacing(#""expires_in": 60, "interval": 5"#, with: #""expires_in": 200, "interval": 90"#)
    let (login, _, clock) = try login(
      .respond(status: .ok, body: answer), Self.failing("authorization_pending"), Self.token)
    _ = try await login.authorizeDevice().token()
    #expect(clock.sleeps == [90, 90].map { .seconds($0) })
  }

  @Test(
    "A refusal ends the wait, and is not retried",
    arguments: ["access_denied", "invalid_grant", "invalid_client", "odd"])
  func refusals(word: String) async throws {
    let (login, transport, _) = try login(.respond(status: .ok, body: Self.answer), Self.failing(word))
    let device = try await login.authorizeDevice()
    let error = try await #require(throws: OAuth2LoginError.self) { try await device.token() }
    guard case .refused(word, nil) = error else { throw error }
    #expect("\(error)".hasSuffix(")") || word == "odd")
    #expect(transport.requests.count == 2)
  }

  @Test("A code expires by the server's word, and by its lifetime")
  func expiry() async throws {
    for steps in [[Self.failing("expired_token")], Array(repeating: Self.failing("authorization_pending"), count: 11)] {
      let (login, transport, _) = try login(.respond(status: .ok, body: Self.answer))
      for step in steps { transport.append(step) }
      let device = try await login.authorizeDevice()
      let error = try await #require(throws: OAuth2LoginError.self) { try await device.token() }
      guard case .expired = error else { throw error }
      #expect(transport.requests.count == 1 + steps.count)
    }
  }

  @Test("A certificate that is refused ends the wait")
  func trust() async throws {
    let (login, transport, _) = try login(
      .respond(status: .ok, body: Self.answer),
      .fail(TransportError(stage: .trust, code: .pinMismatch, message: "the pin does not match", hint: "check it")))
    let device = try await login.authorizeDevice()
    let error = try await #require(throws: OAuth2LoginError.self) { try await device.token() }
    guard case .fetch(let cause) = error, cause.stage == .trust else { throw error }
    #expect(transport.requests.count == 2)
  }

  @Test("Cancelling the task ends the wait at once")
  func cancellation() async throws {
    let clock = ManualClock()
    var configuration = StackConfiguration()
    configuration.timeSource = clock.timeSource
    let transport = ScriptedTransport([.respond(status: .ok, body: Self.answer)])
    let stack = TransportNetworkStack(transport: transport, configuration: configuration)
    let login = try OAuth2Login(
      client: OAuth2Client(tokenURL: "https://login.example/token", id: "cli", authentication: .none), stack: stack,
      deviceAuthorizationURL: "https://login.example/code")
    let device = try await login.authorizeDevice()
    let task = Task { try await device.token() }
    try await clock.waitForSleepers(count: 1)
    task.cancel()
    let error = try await #require(throws: OAuth2LoginError.self) { try await task.value }
    guard case .cancelled = error else { throw error }
    #expect(transport.requests.count == 1)
  }

  @Test(
    "Hostile responses end in an error without the device's code",
    arguments: [
      ("[]", "not a JSON object"), ("{}", "user_code"),
      (
        #"{"user_code": "\u001b[2J", "device_code": "d3v1c3", "verification_uri": "https://a.example", "expires_in": 9}"#,
        "user_code"
      ),
      (#"{"user_code": "\#(String(repeating: "A", count: 101))", "device_code": "d3v1c3"}"#, "user_code"),
      (#"{"user_code": "A"}"#, "device_code"), (#"{"user_code": "A", "device_code": "d3v1c3"}"#, "expires_in"),
      (#"{"user_code": "A", "device_code": "d3v1c3", "expires_in": -1}"#, "expires_in"),
      (#"{"user_code": "A", "device_code": "d3v1c3", "expires_in": 9}"#, "verification_uri"),
      (
        #"{"user_code": "A", "device_code": "d3v1c3", "expires_in": 9, "verification_uri": "http://a.example"}"#,
        "verification_uri"
      ),
      (
        #"{"user_code": "A", "device_code": "d3v1c3", "expires_in": 9, "verification_uri": "https://a.example", "verification_uri_complete": "javascript:1"}"#,
        "verification_uri_complete"
      ), (#"{"error": "unauthorized_client"}"#, "unauthorized_client"),
    ])
  func hostile(body: String, reason: String) async throws {
    let (login, _, _) = try login(.respond(status: .ok, body: body))
    let error = try await #require(throws: OAuth2LoginError.self) { try await login.authorizeDevice() }
    #expect("\(error)".contains(reason) && !"\(error)".contains("d3v1c3") && !"\(error)".contains("\u{1B}"))
  }

  @Test("No text of a login has the device's code")
  func secrets() async throws {
    let (login, _, _) = try login(
      .respond(status: .ok, body: Self.answer),
      .respond(status: .badRequest, body: #"{"error": "invalid_grant", "error_description": "d3v1c3 is old"}"#))
    let device = try await login.authorizeDevice()
    var dumped = ""
    dump(device, to: &dumped)
    #expect(!"\(device)".contains("d3v1c3") && !dumped.contains("d3v1c3") && dumped.contains("WDJB-MJHT"))
    let error = try await #require(throws: OAuth2LoginError.self) { try await device.token() }
    #expect("\(error)".contains("*** is old"))
  }

  @Test("Parameters that the login sets are refused", arguments: ["", "client_id", "scope", "state", "grant_type"])
  func parameters(name: String) async throws {
    let (login, transport, _) = try login()
    let error = try await #require(throws: OAuth2LoginError.self) {
      try await login.authorizeDevice(parameters: KeyValuePairs(dictionaryLiteral: (name, "x")))
    }
    guard case .misconfigured(let cause) = error else { throw error }
    #expect(cause.hint != nil && transport.requests.isEmpty)
  }

  @Test("The schedule after each event in each state", arguments: [nil, -5, 0, 1, 5, 60, 100_000] as [Int?])
  func schedule(interval: Int?) {
    let least = Duration.seconds(interval.map { min(max($0, 1), 86_400) } ?? 5)
    typealias Event = DevicePolling.Event
    let events: [Event] = [
      .pending, .slowDown, .unreachable(retryAfter: nil), .unreachable(retryAfter: .seconds(7)),
      .unreachable(retryAfter: .seconds(100_000)),
    ]
    // All histories of four events.
    for number in 0..<625 {
      var (polling, wanted, failures) = (DevicePolling(interval: interval), least, 0)
      #expect(polling.pause == least)
      for place in [1, 5, 25, 125] {
        let event = events[number / place % 5]
        polling.note(event)
        var asked = Duration.zero
        switch event {
        case .pending: failures = 0
        case .slowDown: (wanted, failures) = (wanted + .seconds(5), 0)
        case .unreachable(let wait): (failures, asked) = (failures + 1, min(wait ?? .zero, .seconds(300)))
        }
        let doubled = min(wanted * (1 << failures), max(wanted, .seconds(60)))
        #expect(polling.pause == max(doubled, asked))
      }
    }
  }
}
