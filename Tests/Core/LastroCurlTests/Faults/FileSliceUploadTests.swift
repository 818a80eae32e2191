// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import LastroCurl
import LastroTesting
import TestSupport
import Testing

@Suite("Faults: retries of a slice of a file", .replayed, .timeLimit(.minutes(15)))
struct FileSliceUploadTests {
  private static let content = noise(300_000)

  private let path = NSTemporaryDirectory() + "slice-upload-\(UUID().uuidString)"
  private let received = EventRecorder<LoopbackRequest>()

  private func slice() throws -> RequestBody {
    try Self.content.write(to: URL(filePath: path))
    return try .file(path: path, offset: 100_000, length: 150_000)
  }

  /// Returns a server that is busy at the first request.
  private func server(whenBusy: @escaping @Sendable () -> Void = {}) throws -> LoopbackServer {
    try LoopbackServer.http { [received] request in
      guard received.record(request) == 0 else { return .text("fine") }
      whenBusy()
      return .text("busy", status: 503)
    }
  }

  private static func stack() throws -> CurlNetworkStack {
    var configuration = StackConfiguration.patient
    configuration.interceptors = [
      RetryInterceptor(policy: .backoff(.constant(delay: .seconds(0), until: .maxRetries(1))), eligibility: .any)
    ]
    return try .direct(configuration: configuration.replayed)
  }

  @Test("A retry sends the same slice with the same Content-Length")
  func retried() async throws {
    let body = try slice()
    defer { unlink(path) }
    let server = try server()
    let answer = try await Self.stack().send(.put, server.baseURL, body: body)
    #expect(answer.text == "fine")
    let expected = [UInt8](Self.content[100_000..<250_000])
    #expect(received.events.map(\.body) == [expected, expected])
    for request in received.events {
      #expect(request.headers["Content-Length"] == "150000" && request.headers["Transfer-Encoding"] == nil)
    }
  }

  @Test("A retry of a slice whose file became shorter fails, and the server gets no shorter body")
  func shrunk() async throws {
    let body = try slice()
    defer { unlink(path) }
    let server = try server { [path] in _ = truncate(path, 120_000) }
    let error = try await failure { try await Self.stack().send(.put, server.baseURL, body: body) }
    #expect(error.words == "request/invalid_body" && error.attempts.count == 2)
    #expect(received.events.count == 1)
  }
}
