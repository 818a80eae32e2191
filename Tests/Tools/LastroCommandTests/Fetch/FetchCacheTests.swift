// SPDX-License-Identifier: Apache-2.0

import Foundation
import LastroTesting
import PeerSupport
import TestSupport
import Testing

@Suite("lastro fetch --cache", .timeLimit(.minutes(15)))
struct FetchCacheTests {
  private static func fetch(_ server: LoopbackServer, _ folder: String, _ flags: String...) async throws
    -> Lastro.Result
  {
    try await Lastro.run(["fetch", "--cache", folder] + flags + [server.baseURL + "/"])
  }

  @Test("A second run is answered from the folder, and --report shows it")
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

  @Test("Responses to requests with credentials are not stored")
  func credentials() async throws {
    let directory = try PeerDirectory()
    let server = try LoopbackServer.http { _ in .text("kept").adding("Cache-Control", "max-age=600") }
    for _ in 0..<2 { _ = try await Self.fetch(server, directory.file("cache"), "--bearer", "t") }
    #expect(server.requests.count == 2)
  }

  @Test(
    "A proxy, a fixed address, roots, an address family or pins do not prevent storing",
    arguments: [
      ["-4"], ["--resolve", "other.example:80:127.0.0.1"], ["--cacert", "/etc/hostname"], ["--tlsv1.3"],
      ["--noproxy", "*"], ["--pin", "other.example=sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="],
    ])
  func ways(flags: [String]) async throws {
    let directory = try PeerDirectory()
    let folder = directory.file("cache")
    let server = try LoopbackServer.http { _ in .text("kept").adding("Cache-Control", "max-age=600") }
    let url = "http://localhost:\(server.port)/"
    let first = try await Lastro.run(["fetch", "--cache", folder, "--report", url] + flags)
    #expect(first.text.contains("; stored"), "\(first.text) \(first.errors)")
    let second = try await Lastro.run(["fetch", "--cache", folder, "--report", url] + flags)
    #expect(second.text.contains("Lastro; hit"), "\(second.text)")
    #expect(server.requests.count == 1)
    // A response received through this route is not used for a request that takes another route.
    #expect(try await Lastro.run(["fetch", "--cache", folder, url]).text == "kept")
    #expect(server.requests.count == 2)
  }

  @Test("explain shows what --cache would do")
  func explained() async throws {
    func words(_ flags: String...) async throws -> String {
      try await Lastro.run(["explain", "--cache", "/no/such", "https://example.org/"] + flags).text
    }
    #expect(try await words().contains("standard; for requests without credentials"))
    #expect(try await words("-H", "X-Api-Key: k").contains("not stored unless public, as the request has credentials"))
    #expect(try await words("-H", "X-Signature: k").contains("as X-Signature changes with each request"))
  }

  @Test("An unusable folder is an error with the remedy, and --raw is refused")
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
