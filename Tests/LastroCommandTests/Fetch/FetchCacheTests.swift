// SPDX-License-Identifier: Apache-2.0

import Foundation
import LastroTesting
import PeerSupport
import TestSupport
import Testing

@Suite("lastro fetch --cache", .timeLimit(.minutes(5)))
struct FetchCacheTests {
  private static func fetch(_ server: LoopbackServer, _ folder: String, _ flags: String...) async throws
    -> Lastro.Result
  {
    try await Lastro.run(["fetch", "--cache", folder] + flags + [server.baseURL + "/"])
  }

  @Test("a second run is answered from the folder, and --report tells it")
  func secondRun() async throws {
    let directory = try PeerDirectory()
    let folder = directory.file("cache")
    let server = try LoopbackServer.http { _ in .text("kept").adding("Cache-Control", "max-age=600") }
    for _ in 0..<2 {
      let result = try await Self.fetch(server, folder)
      #expect(result.status == 0 && result.output == Data("kept".utf8), "\(result.errors)")
    }
    #expect(server.requests.count == 1)
    let told = try await Self.fetch(server, folder, "--report")
    #expect(String(decoding: told.output, as: UTF8.self).contains("Lastro; hit"))
    #expect(server.requests.count == 1)
  }

  @Test("what is asked for with credentials is not kept")
  func credentials() async throws {
    let directory = try PeerDirectory()
    let server = try LoopbackServer.http { _ in .text("kept").adding("Cache-Control", "max-age=600") }
    for _ in 0..<2 { _ = try await Self.fetch(server, directory.file("cache"), "--bearer", "t") }
    #expect(server.requests.count == 2)
  }

  @Test("a folder that cannot be used is an error with the remedy, and --raw is refused")
  func refused() async throws {
    let directory = try PeerDirectory()
    let server = try LoopbackServer.http { _ in .text("x") }
    let missing = try await Self.fetch(server, directory.file("no/such"))
    #expect(missing.status != 0)
    #expect(missing.errors.contains("--cache: the cache's folder"))
    let raw = try await Self.fetch(server, directory.file("cache"), "--raw")
    #expect(raw.status != 0 && raw.errors.contains("--raw and --cache exclude each other"))
    #expect(server.requests.isEmpty)
  }
}
