// SPDX-License-Identifier: Apache-2.0

import Foundation
import LastroTesting
import TestSupport
import Testing

@testable import Lastro
@testable import LastroGemini

@Suite("Gemini data tasks and identities", .timeLimit(.minutes(15)))
struct GeminiTaskTests {
  static let start = "gemini://capsule.example/"

  /// Returns a completion handler that records outcomes as text.
  static func recording(_ arrivals: EventRecorder<String>) -> GeminiDataTask.Completion {
    { result in
      switch result {
      case .success(let response): arrivals.record("\(response.status) \(response.text ?? "")")
      case .failure(let error): arrivals.record("\(error.stage.rawValue)/\(error.code)")
      }
    }
  }

  @Test("A task is unstarted, started and completed, and its completion is called once")
  func life() async throws {
    let outcomes = EventRecorder<String>(), gate = EventRecorder<String>(), arrived = EventRecorder<String>()
    let capsule = Capsule { request in
      arrived.record(request)
      _ = try? await gate.waitForEvents(count: 1)
      return .text("20 text/plain\r\nhello")
    }
    let url = try #require(URL(string: Self.start))
    let task = try GeminiDataTask(url: url, client: .trusting(capsule), completion: Self.recording(outcomes))
    #expect(task.state == .unstarted && capsule.dialed.isEmpty)
    task.resume()
    task.resume()
    #expect(task.state == .started)
    try await arrived.waitForEvents(count: 1)
    gate.record("")
    try await outcomes.waitForEvents(count: 1)
    #expect(task.state == .completed && !task.isCancelled)
    task.cancel()
    task.resume()
    #expect(outcomes.events == ["20 hello"] && !task.isCancelled && capsule.requests.count == 1)
  }

  @Test("A task that is cancelled before or while it runs, or dropped, completes once and closes the connection")
  func cancelling() async throws {
    let arrived = EventRecorder<String>()
    let capsule = Capsule { request in
      arrived.record(request)
      return .stall("")
    }
    let client = GeminiClient.trusting(capsule)
    let request = GeminiRequest(url: try GeminiURL(Self.start))
    let outcomes = EventRecorder<String>()
    let unstarted = GeminiDataTask(request: request, client: client, completion: Self.recording(outcomes))
    unstarted.cancel()
    unstarted.cancel()
    unstarted.resume()
    #expect(unstarted.state == .completed && unstarted.isCancelled && outcomes.events == ["cancelled/cancelled"])
    let started = GeminiDataTask(request: request, client: client, completion: Self.recording(outcomes))
    started.resume()
    try await arrived.waitForEvents(count: 1)
    started.cancel()
    #expect(started.state == .completed && outcomes.events.count == 2)
    try await capsule.finished.waitForEvents(count: 1)
    do {
      let dropped = GeminiDataTask(request: request, client: client, completion: Self.recording(outcomes))
      dropped.resume()
      try await arrived.waitForEvents(count: 2)
    }
    #expect(outcomes.events == Array(repeating: "cancelled/cancelled", count: 3))
    try await capsule.finished.waitForEvents(count: 2)
    do { _ = GeminiDataTask(request: request, client: client, completion: Self.recording(outcomes)) }
    #expect(outcomes.events.count == 4 && capsule.requests.count == 2)
  }

  @Test("A task completes with the status of a failure, and is not made of another scheme's URL")
  func refusal() async throws {
    let outcomes = EventRecorder<String>()
    let capsule = Capsule { _ in .text("51 no\r\n") }
    let request = GeminiRequest(url: try GeminiURL(Self.start))
    let task = GeminiDataTask(
      request: request, client: .trusting(capsule), completion: Self.recording(outcomes))
    task.resume()
    try await outcomes.waitForEvents(count: 1)
    #expect(outcomes.events == ["51 "])
    #expect(throws: GeminiError.self) {
      try GeminiDataTask(url: #require(URL(string: "https://x.example/")), client: .trusting(capsule)) { _ in }
    }
  }

  // MARK: client certificates

  static func identity(_ name: String) -> TLSOptions.Identity { .init(certificate: .file(name)) }

  static let scopes: [(String, String?)] = [
    ("gemini://capsule.example/app", "app"), ("gemini://capsule.example/app/", "app"),
    ("gemini://capsule.example/app?x", "app"), ("gemini://capsule.example/app/x/y", "app"),
    ("gemini://capsule.example/app/admin/x", "admin"), ("gemini://capsule.example/%61pp/x", "app"),
    ("gemini://capsule.example/apple", nil), ("gemini://capsule.example/", nil),
    ("gemini://capsule.example/app/../x", nil), ("gemini://capsule.example/app/%2e%2e/x", nil),
    ("gemini://capsule.example/app%2Fx", nil), ("gemini://capsule.example/app/..%2f..%2fx", nil),
    ("gemini://capsule.example/APP", nil), ("gemini://capsule.example//app", nil),
    ("gemini://capsule.example:1966/app", nil), ("gemini://other.example/app", nil),
    ("gemini://a.capsule.example/app", nil), ("gemini://whole.example/any/path", "whole"),
    ("gemini://whole.example/a%2Fb", "whole"),
  ]

  static func identities() throws -> GeminiIdentities {
    let identities = GeminiIdentities()
    for (name, scope) in [
      ("app", "capsule.example/app"), ("admin", "capsule.example/app/admin/"), ("whole", "whole.example"),
    ] { identities.add(identity(name), for: try GeminiURL(scope)) }
    return identities
  }

  @Test("A client certificate is bound to its host, port and path", arguments: scopes)
  func scope(url: String, name: String?) throws {
    let identities = try Self.identities()
    #expect(try identities.identity(for: GeminiURL(url)) == name.map(Self.identity))
  }

  @Test("Certificates belong to a client and its copies, not to others with the same configuration")
  func ownIdentities() throws {
    let url = try GeminiURL("capsule.example/app")
    var configuration = GeminiConfiguration()
    configuration.identities = try Self.identities()
    let dialer = MemoryDialer { _, _ in }
    let (one, other) = (
      GeminiClient(dialer: dialer, configuration: configuration),
      GeminiClient(dialer: dialer, configuration: configuration)
    )
    let copy = one
    one.addIdentity(Self.identity("new"), for: url)
    #expect(copy.configuration.identities.identity(for: url) == Self.identity("new"))
    #expect(other.configuration.identities.identity(for: url) == Self.identity("app"))
  }

  @Test("Redirects drop the certificate, and no other is presented")
  func leavingScope() async throws {
    let capsule = Capsule { request in
      switch request {
      case "gemini://capsule.example/app": .text("30 /public\r\n")
      case "gemini://capsule.example/public": .text("30 gemini://other.example/app\r\n")
      case "gemini://other.example/app": .text("31 gemini://capsule.example/app/admin\r\n")
      default: .text("60 more\r\n")
      }
    }
    let identities = try Self.identities()
    let client = GeminiClient.trusting(capsule) {
      $0.identities = identities
      $0.followsRedirectsAcrossHosts = true
      $0.connection.tls.identity = Self.identity("everywhere")
      $0.connection.tls.hostIdentities = ["other.example": Self.identity("other")]
    }
    #expect(try await client.fetch("capsule.example/app").status.rawValue == 60)
    #expect(
      capsule.dialed.map { $0.connection?.tls.identity } == [
        Self.identity("app"), nil, nil, Self.identity("admin"),
      ])
    #expect(capsule.dialed.allSatisfy { $0.connection?.tls.hostIdentities.isEmpty == true })
  }
}
