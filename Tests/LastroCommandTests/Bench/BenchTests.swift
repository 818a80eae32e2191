// SPDX-License-Identifier: Apache-2.0

import Foundation
import PeerSupport
import Testing

@Suite("lastro bench", .peers(.nginx), .timeLimit(.minutes(5)))
struct BenchTests {
  private func nginx(_ path: String) throws -> String { "http://127.0.0.1:\(try Peers.nginx.ports.plain)\(path)" }

  @Test("prints one object that tells what it cost", arguments: [false, true])
  func bench(http2: Bool) async throws {
    let peer = try Peers.nginx
    let url = http2 ? "https://localhost:\(peer.ports.tls)/files/1k" : try nginx("/files/1k")
    let flags = http2 ? ["--http2", "--cacert", peer.certificates.authority] : []
    let result = try await Lastro.run(["bench", url, "--requests", "300", "--concurrency", "20"] + flags)
    #expect(result.status == 0, "\(result.errors)")
    let json = try result.json()
    #expect(Set(json.keys) == ["client", "ok", "bytes", "wall", "user", "sys", "startup_cpu", "rss_kb"])
    #expect(json["client"] as? String == "lastro")
    #expect(json["ok"] as? Int == 300)
    #expect(json["bytes"] as? Int == 300 * 1024)
    for key in ["wall", "user", "sys"] { #expect(json[key] is Double) }
    #expect(try #require(json["rss_kb"] as? Int) > 1000)
  }

  @Test("tells failures by its count and its exit status")
  func benchFailures() async throws {
    let result = try await Lastro.run(["bench", nginx("/status/500"), "--requests", "5", "--concurrency", "2"])
    #expect(result.status == 1)
    #expect(try result.json()["ok"] as? Int == 0)
  }
}
