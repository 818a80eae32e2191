// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import LastroCurl
import LastroTesting
import PeerSupport
import TestSupport
import Testing

@Suite("Replaying calls over HTTP/2", .timeLimit(.minutes(15)))
struct HTTP2ReplayTests {
  private let authority: CertificateAuthority

  init() throws { authority = try CertificateAuthority() }

  private func server(
    _ settings: LoopbackHTTP2Settings = .init(),
    respond: @escaping @Sendable (LoopbackRequest) throws -> LoopbackResponse
  ) throws -> LoopbackServer {
    try .http2(tls: LoopbackTLS(authority.issue(hosts: ["localhost"])), settings: settings, respond: respond)
  }

  private func stack(
    _ calls: RecordedCalls, _ interceptors: [any HTTPResourceInterceptor] = []
  ) throws -> CurlNetworkStack {
    try calls.stack(interceptors, { $0.connection.tls.roots = .pem(Array(authority.rootPEM.utf8)) })
  }

  private func url(_ server: LoopbackServer) -> String { "https://localhost:\(server.port)" }

  @Test("A redirect and its target are replayed on one connection")
  func redirected() async throws {
    let calls = try RecordedCalls()
    let server = try server { request in
      request.path == "/a" ? LoopbackResponse(status: 302, headers: ["Location": "/b"]) : .text("fine")
    }
    let answer = try await stack(calls).send(.get, url(server) + "/a")
    #expect(answer.response.facts.httpVersion == "2")
    try await calls.expectEqualReplay()
  }

  @Test("A call on a connection that other calls use has only its own frames, and is replayed alone")
  func shared() async throws {
    let calls = try RecordedCalls()
    let server = try server { .text("the text of \($0.path)") }
    let stack = try stack(calls)
    _ = try await stack.send(.get, url(server) + "/first")
    try await withThrowingTaskGroup { group in
      for index in 0..<20 {
        group.addTask { _ = try await stack.send(.get, self.url(server) + "/call-\(index)") }
      }
      try await group.waitForAll()
    }
    #expect(server.acceptedConnections == 1 && calls.recorder.files.count == 21)
    for file in calls.recorder.files {
      let text = try String(contentsOfFile: file, encoding: .utf8)
      #expect(text.components(separatedBy: #"[":path","#).count == 2, "\(text)")
      try await calls.expectEqualReplay(of: text)
    }
  }

  @Test("Uploads that wait for the server's window, and refused streams, are replayed")
  func uploads() async throws {
    let calls = try RecordedCalls()
    let requests = EventRecorder<String>()
    let server = try server { request in
      var response = LoopbackResponse.text("\(request.body.count)")
      if requests.record(request.path) == 1 {
        response.fault = .http2(.resetStream(.refusedStream), at: .beforeHeaders)
      }
      return response
    }
    let stack = try stack(calls)
    let body = String(repeating: "b", count: 300_000)
    for _ in 0..<3 {
      let answer = try await stack.send(.post, url(server), body: .raw(body))
      #expect(answer.text == "300000")
      try await calls.expectEqualReplay()
    }
  }

  @Test("Compressed bodies are replayed without their content")
  func compressed() async throws {
    let calls = try RecordedCalls()
    let server = try server { _ in
      LoopbackResponse(status: 200, headers: ["Content-Encoding": "gzip"], body: CallReplayTests.gzip)
    }
    #expect(try await stack(calls).send(.get, url(server)).text == "hello")
    try await calls.expectEqualReplay()
  }

  @Test("No planted secret is in a trace of HTTP/2", arguments: [false, true])
  func secrets(bodies: Bool) async throws {
    let calls = try RecordedCalls(bodies: bodies)
    let server = try server { _ in PlantedSecrets.response }
    let answer = try await PlantedSecrets.send(to: url(server), by: stack(calls))
    #expect(answer.text.contains("planted-password"))
    let text = try calls.text()
    #expect(!text.contains("planted"), "\(text)")
    #expect(text.contains("Porto") == bodies && text.contains("Ann") == bodies)
    #expect(text.contains(#"[":status","200"]"#) && text.contains(#"["x-echo","#))
    try await calls.expectEqualReplay()
  }

  @Test("Each frame is reported, with the fields of heads")
  func steps() async throws {
    let calls = try RecordedCalls()
    let server = try server { _ in .text("fine") }
    _ = try await stack(calls).send(.get, url(server) + "/a")
    let lines = EventRecorder<String>()
    _ = try await RecordedCalls.replay(calls.text()) { lines.record($0) }
    #expect(lines.events.contains { $0.hasPrefix("sent HEADERS of stream 1: :method: GET") }, "\(lines.events)")
    #expect(lines.events.contains { $0.hasPrefix("received HEADERS of stream 1: :status: 200") })
    #expect(lines.events.contains { $0.hasPrefix("received DATA of stream 1") })
  }
}
