// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import LastroTesting
import TestSupport
import Testing

@testable import Lastro

@Suite("Secrets by type", .timeLimit(.minutes(15)))
struct SecretsEverywhereTests {
  @Test("No output of a fetch contains a secret", arguments: SeedStride.some(of: SecretScenario.allCases))
  func nothing(scenario: SecretScenario) async throws { try await Self.expectNoSecret(in: scenario, body: .json) }

  @Test(
    "No output contains a secret of a form body",
    arguments: [SecretScenario.succeeds, .statusAfterRedirect, .transportFails, .undecodable])
  func nothingOfForms(scenario: SecretScenario) async throws {
    try await Self.expectNoSecret(in: scenario, body: .form)
  }

  static func expectNoSecret(in scenario: SecretScenario, body: SecretEndpoint.Body) async throws {
    let fetch = SecretFetch(scenario: scenario, endpoint: SecretEndpoint(body: body))
    try await fetch.run()
    // Many outputs are equal: one place of each text is enough.
    let outputs = Dictionary(fetch.all.map { ($0.text, $0.place) }) { first, _ in first }
    #expect(outputs.count > 20)
    for (text, place) in outputs {
      // The search takes long, and tests that run at the same time have time limits.
      await Task.yield()
      let found = Planted.found(in: text)
      #expect(found.isEmpty, "\(place) has \(found): \(text.prefix(2000))")
    }
  }

  @Test(
    "The search finds the same texts if they are not marked as secret",
    arguments: SeedStride.some(of: SecretScenario.allCases)
  )
  func control(scenario: SecretScenario) async throws {
    let fetch = SecretFetch(scenario: scenario, endpoint: SecretEndpoint(isMarked: false))
    try await fetch.run()
    #expect(fetch.all.contains { !Planted.found(in: $0.text).isEmpty })
  }
}

/// A way in which a fetch ends. The server or the transport repeats everything that it was sent.
enum SecretScenario: String, CaseIterable, Sendable {
  case succeeds, succeedsAfterRedirect, succeedsAfterRetries
  case status, statusWithAPIError, statusWithUndecodableError, statusWithTextError, statusAfterRedirect
  case noData, undecodable, undecodableKeys, bodyTooLarge
  case transportFails, answerBroken, tlsFails, truncated
  case redirectRefused, redirectLoops, redirectInvalid, tooManyRedirects
  case cancelled, shutDown, attemptTimesOut
  case interceptorThrows, makerThrows, requestRefused
  case retriesExhausted, policyGivesUp, notRetried

  static let echoingFields: HTTPFields = {
    var fields: HTTPFields = [
      .setCookie: "sid=" + Planted.cookie.text, .wwwAuthenticate: "Basic realm=\"\(Planted.header.text)\"",
      .retryAfter: "7 " + Planted.query.text, .server: Planted.echoField,
    ]
    fields[.contentType] = "text/plain; note=\"\(Planted.header.text)\""
    fields.append(
      HTTPField(
        name: .setCookie,
        value: "n-\(Planted.cookie.text)=1; Path=/\(Planted.cookie.text); Domain=\(Planted.cookie.text)"))
    if let name = HTTPField.Name("X-Echo") { fields[name] = Planted.header.text }
    return fields
  }()

  static func echoing(
    _ status: Int, fields: HTTPFields = [:], body: String = Planted.echo
  ) -> ScriptedTransport.Step {
    var all = echoingFields
    all.append(contentsOf: fields)
    return .respond(
      status: .init(code: status, reasonPhrase: "No \(Planted.header.text)"), headers: all, body: body)
  }

  static func failure(_ stage: FailureStage, _ code: FailureCode, sent: Bool = false) -> TransportError {
    TransportError(
      stage: stage, code: code, message: "no way to https://example.com\(Planted.echoURL): \(Planted.echoField)",
      hint: "try without \(Planted.echoField)", engineCode: 7, requestSent: sent,
      facts: TransferFacts(httpVersion: "1.1", remoteAddress: "192.0.2.1"))
  }

  static func truncated() -> TransportError {
    var error = failure(.response, .truncatedBody, sent: true)
    error.head = HTTPResponse(status: .ok, headerFields: echoingFields)
    return error
  }

  static func redirect(_ location: String) -> ScriptedTransport.Step {
    echoing(302, fields: [.location: location])
  }

  static let json =
    "{\"message\":" + String(decoding: (try? JSONEncoder().encode(Planted.echo)) ?? Data(), as: UTF8.self) + "}"

  var steps: [ScriptedTransport.Step] {
    switch self {
    case .succeeds: [Self.echoing(200, body: #"{"name":"a"}"#)]
    case .succeedsAfterRedirect: [Self.redirect(Planted.echoURL), Self.echoing(200, body: #"{"name":"a"}"#)]
    case .succeedsAfterRetries:
      [Self.echoing(503), .fail(Self.failure(.connect, .connectFailed)), Self.echoing(200, body: #"{"name":"a"}"#)]
    case .status, .statusWithTextError: [Self.echoing(422)]
    case .statusWithAPIError: [Self.echoing(422, body: Self.json)]
    case .statusWithUndecodableError: [Self.echoing(500, body: "[\(Self.json)]")]
    case .statusAfterRedirect:
      [Self.redirect("https://other.example" + Planted.echoURL), Self.redirect("/plain"), Self.echoing(404)]
    case .noData: [Self.echoing(200, body: "")]
    case .undecodable: [Self.echoing(200, body: Self.json)]
    case .undecodableKeys: [Self.echoing(200, body: "{\"names\":{\(Self.json.dropFirst(11).dropLast()):1}}")]
    case .bodyTooLarge: [Self.echoing(200, body: String(repeating: Planted.echo, count: 4))]
    case .transportFails: [.fail(Self.failure(.connect, .connectFailed))]
    case .answerBroken: [.fail(Self.failure(.response, .malformedResponse, sent: true))]
    case .tlsFails: [.fail(Self.failure(.tls, .untrustedCertificate))]
    case .truncated: [.fail(Self.truncated())]
    case .redirectRefused: [Self.redirect("http://\(Planted.header.rawValue).example\(Planted.echoURL)")]
    case .redirectLoops: [Self.redirect(Planted.echoURL), Self.redirect(Planted.echoURL)]
    case .redirectInvalid: [Self.redirect("https://ann:\(Planted.header.text.pathSegment)@h\(Planted.echoURL)")]
    case .tooManyRedirects: (0..<30).map { Self.redirect(Planted.echoURL + "&n=\($0)") }
    case .cancelled: [Self.echoing(503), .hang]
    case .shutDown: [.fail(Self.failure(.cancelled, .shutDown))]
    case .attemptTimesOut: [.fail(Self.failure(.timeout, .attemptTimeout, sent: true))]
    case .interceptorThrows, .makerThrows, .requestRefused: []
    case .retriesExhausted, .policyGivesUp: (0..<4).map { _ in Self.echoing(503) }
    case .notRetried: [.fail(Self.failure(.trust, .untrustedCertificate))]
    }
  }

  /// Returns the retry action of the test's interceptor for a failure.
  func action(_ context: AttemptContext) -> Retry.Action {
    switch self {
    case .succeedsAfterRetries, .cancelled, .notRetried: .retry
    case .retriesExhausted: context.attempt < 3 ? .retry : .noRetry(.retries(3))
    case .policyGivesUp: context.attempt < 2 ? .retry : .noRetry(.custom(Broken()))
    default: .none
    }
  }

  /// An error of an application that contains every secret.
  struct Broken: Error, CustomStringConvertible {
    var description: String { "cannot work with \(Planted.echoField)" }
  }

  /// A model whose keys come from the payload.
  struct Keyed: Decodable {
    var names: [String: String]
  }
}
