// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import LastroCurl
import LastroTesting
import PeerSupport
import TestSupport
import Testing

@Suite("Recording calls", .timeLimit(.minutes(15)))
struct CallRecorderTests {
  @Test("No planted secret is in a trace, whose file has mode 0600", arguments: [false, true])
  func secrets(bodies: Bool) async throws {
    let calls = try RecordedCalls(bodies: bodies)
    let server = try LoopbackServer.http { _ in PlantedSecrets.response }
    let answer = try await PlantedSecrets.send(to: server.baseURL, by: calls.stack())
    #expect(answer.text.contains("planted-password"))
    let text = try calls.text()
    #expect(!text.contains("planted"), "\(text)")
    #expect(text.contains("Porto") == bodies && text.contains("Ann") == bodies)
    #expect(text.contains("\"body_sha256\""))
    let path = try #require(calls.recorder.files.last)
    let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    #expect(mode == 0o600)
    try await calls.expectEqualReplay()
  }

  @Test("A recorder keeps failures, marked calls or all calls")
  func scopes() async throws {
    let server = try LoopbackServer.http { $0.path == "/bad" ? LoopbackResponse(status: 404) : .text("fine") }
    let failed: [CallRecorder.Scope: Int] = [.every: 2, .failures: 1, .marked: 0]
    let all: [CallRecorder.Scope: Int] = [.every: 3, .failures: 2, .marked: 1]
    for scope in CallRecorder.Scope.allCases {
      let calls = try RecordedCalls(keeps: scope)
      let stack = try calls.stack()
      _ = try await stack.send(.get, server.baseURL)
      #expect(calls.recorder.files.count == (scope == .every ? 1 : 0))
      _ = try await failure { try await stack.send(.get, server.baseURL + "/bad") }
      #expect(calls.recorder.files.count == failed[scope])
      _ = try await calls.recorder.recording { try await stack.send(.get, server.baseURL) }
      #expect(calls.recorder.files.count == all[scope])
      try await calls.expectEqualReplay()
    }
  }

  @Test("The number of traces and the bytes of each are limited")
  func limits() async throws {
    let server = try LoopbackServer.http { _ in .text(String(repeating: "a", count: 100_000)) }
    let calls = try RecordedCalls(maximumBytes: 1_024, maximumTraces: 2)
    let stack = try calls.stack()
    for _ in 0..<4 { _ = try await stack.send(.get, server.baseURL) }
    #expect(calls.recorder.files.count == 2)
    #expect(try calls.text().utf8.count < 16_384)
    try await calls.expectEqualReplay(onEngine: false)
  }

  @Test("A trace that cannot be written does not fail its call")
  func unwritable() async throws {
    let server = try LoopbackServer.http { _ in .text("fine") }
    let calls = try RecordedCalls()
    let stack = try calls.stack()
    try FileManager.default.removeItem(atPath: calls.directory.path)
    #expect(try await stack.send(.get, server.baseURL).text == "fine")
    #expect(calls.recorder.files.isEmpty && calls.recorder.writeError != nil)
  }

  @Test("Recorders with unusable settings are refused")
  func refused() throws {
    #expect(throws: ConfigurationError.self) { try CallRecorder(directory: "/nowhere") }
    #expect(throws: ConfigurationError.self) { try CallRecorder(directory: "/", maximumBytes: 10) }
    #expect(throws: ConfigurationError.self) { try CallRecorder(directory: "/", maximumTraces: 0) }
  }

  @Test("A trace of another version is refused by its name, and so is a file that was cut")
  func versions() async throws {
    let server = try LoopbackServer.http { _ in .text("fine") }
    let calls = try RecordedCalls()
    _ = try await calls.stack().send(.get, server.baseURL)
    let text = try calls.text()
    let other = text.replacingOccurrences(of: "\"lastro_trace\":1", with: "\"lastro_trace\":9")
      .replacingOccurrences(of: "\"lastro\":\"\(PackageVersion.text)\"", with: "\"lastro\":\"7.1.0\"")
    let error = try #require(throws: ConfigurationError.self) { try CallTrace(reading: other) }
    #expect(error.message.contains("version 9") && error.message.contains("7.1.0"))
    #expect(throws: ConfigurationError.self) { try CallTrace(reading: String(text.dropLast(200))) }
    #expect(throws: ConfigurationError.self) { try CallTrace(reading: "{}") }
    let lines = text.split(separator: "\n").dropLast()
    #expect(throws: ConfigurationError.self) { try CallTrace(reading: lines.joined(separator: "\n")) }
  }
}
