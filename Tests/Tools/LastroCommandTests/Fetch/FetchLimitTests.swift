// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import LastroTesting
import TestSupport
import Testing

@testable import LastroCommand

@Suite("lastro fetch: limits of its process", .timeLimit(.minutes(15)))
struct FetchLimitTests {
  private static let body = [UInt8](repeating: 65, count: 4 << 20)

  private static func withFIFO(_ body: (String) async throws -> Void) async throws {
    let path = FileManager.default.temporaryDirectory.appending(path: "lastro-\(UUID().uuidString)").path
    try #require(mkfifo(path, 0o600) == 0)
    defer { unlink(path) }
    try await body(path)
  }

  @Test("-m ends a program whose output is never opened or read", arguments: [false, true])
  func unread(isOpened: Bool) async throws {
    let server = try LoopbackServer.http { _ in LoopbackResponse(body: Self.body) }
    try await Self.withFIFO { path in
      let reader = isOpened ? open(path, O_RDONLY | O_NONBLOCK) : -1
      defer { if isOpened { close(reader) } }
      // A program that ignores its limit would wait forever, so `timeout` kills it after a minute.
      let words = ["-s", "KILL", "60", Lastro.path, "fetch", "-m", "1", "-o", path, server.baseURL]
      let result = try await Lastro.run(words, program: "/usr/bin/timeout")
      #expect(result.status == 28, "\(result.errors)")
      #expect(result.errors.contains("timeout/total_timeout"), "\(result.errors)")
    }
  }

  @Test("A signal does not end the wait for a reader of the output")
  func interruptedOpening() async throws {
    try await Self.withFIFO { path in
      var reader: Int32 = -1
      let writer = try await interrupting {
        WriteDeadline.open(path, O_WRONLY | O_CLOEXEC)
      } release: {
        reader = open(path, O_RDONLY | O_NONBLOCK)
      }
      #expect(writer >= 0)
      close(writer)
      close(reader)
    }
  }

  @Test("-m does not interrupt a pipe that is read")
  func read() async throws {
    let server = try LoopbackServer.http { _ in LoopbackResponse(body: Self.body) }
    let result = try await Lastro.run(["fetch", "-m", "60", server.baseURL])
    #expect(result.status == 0 && result.output == Data(Self.body))
  }

  @Test("Too few file descriptors end the program with a message, and never with a signal", arguments: 4...24)
  func descriptors(limit: Int) async throws {
    let server = try LoopbackServer.http { _ in .text("answer") }
    let result = try await Lastro.run(
      [
        "-c", "ulimit -n \(limit); exec \"$0\" \"$@\"", Lastro.path, "fetch", "-m", "120", server.baseURL,
      ], program: "/bin/sh")
    #expect([0, 1, 3, 6, 7].contains(result.status), "\(result.status) \(result.errors)")
    #expect(result.status == 0 || result.errors.hasPrefix("lastro: "), "\(result.errors)")
  }

  @Test("Too few threads end the program with a message", arguments: 1...4)
  func threads(limit: Int) async throws {
    // The limit does not apply to root, so the program then runs as another user. Without its check for threads that
    // cannot be started, it would wait forever.
    let user = geteuid() == 0 ? ["/usr/bin/setpriv", "--reuid=65534", "--clear-groups", "--inh-caps=-all"] : []
    let words =
      ["-s", "KILL", "60"] + user + [
        "/usr/bin/prlimit", "--nproc=\(limit)", Lastro.path, "fetch", "http://127.0.0.1:1/",
      ]
    let result = try await Lastro.run(words, program: "/usr/bin/timeout")
    #expect(result.status == 1, "\(result.errors)")
    #expect(result.errors.contains("cannot start 4 threads: "), "\(result.errors)")
  }

  @Test("-m applies while a cookie jar is read")
  func jar() async throws {
    let path = FileManager.default.temporaryDirectory.appending(path: "lastro-\(UUID().uuidString)").path
    defer { unlink(path) }
    let lines = (0..<20_000).map { "d\($0).test\tFALSE\t/\tFALSE\t0\tn\t1\n" }.joined()
    try Data(lines.utf8).write(to: URL(filePath: path))
    let server = try LoopbackServer.http { _ in .text("answer") }
    let late = try await Lastro.run(["fetch", "-m", "0.000001", "-b", path, server.baseURL])
    #expect(late.status == 28 && late.errors.contains("while cookies were read"), "\(late.errors)")
    let result = try await Lastro.run(["fetch", "-b", path, server.baseURL])
    #expect(result.status == 0 && result.text == "answer", "\(result.errors)")
  }

  @Test("--digest sends standard input, and a large file once")
  func digest() async throws {
    let server = try LoopbackServer.http { request in
      guard request.head.values("Authorization").isEmpty else {
        return .text("\(request.body.count)")
      }
      var response = LoopbackResponse(
        status: 401, headers: ["WWW-Authenticate": #"Digest realm="r", qop="auth", algorithm=SHA-256, nonce="n""#])
      response.body = Array("\(request.body.count)".utf8)
      return response
    }
    let flags = ["fetch", "--digest", "-u", "user:word", "-T", "-", "\(server.baseURL)/in"]
    let result = try await Lastro.run(flags, input: String(repeating: "x", count: 200_000))
    #expect(result.status == 0 && result.text == "200000", "\(result.errors)")
    #expect(server.requests.map(\.body.count) == [0, 200_000])
  }
}
