// SPDX-License-Identifier: Apache-2.0

import Foundation
import PeerSupport
import Testing

@Suite("lastro bench", .peers(.nginx), .timeLimit(.minutes(15)))
struct BenchTests {
  private func nginx(_ path: String) throws -> String { "http://127.0.0.1:\(try Peers.nginx.ports.plain)\(path)" }

  @Test("bench prints one JSON object with the measurements", arguments: [false, true])
  func bench(http2: Bool) async throws {
    let peer = try Peers.nginx
    let url = http2 ? "https://localhost:\(peer.ports.tls)/files/1k" : try nginx("/files/1k")
    let flags = http2 ? ["--http2", "--cacert", peer.certificates.authority] : []
    let result = try await Lastro.run(["bench", url, "-n", "300", "-c", "20"] + flags)
    #expect(result.status == 0, "\(result.errors)")
    let json = try result.json()
    #expect(
      Set(json.keys) == [
        "client", "ok", "bytes", "wall", "user", "sys", "startup_cpu", "rss_kb", "opened", "origins", "reuse",
        "latency",
      ])
    #expect(json["client"] as? String == "lastro")
    #expect(json["ok"] as? Int == 300)
    #expect(json["bytes"] as? Int == 300 * 1024)
    for key in ["wall", "user", "sys"] { #expect(json[key] is Double) }
    #expect(try #require(json["rss_kb"] as? Int) > 1000)
    let latency = try #require(json["latency"] as? [String: Double])
    let ranks = try ["p50", "p90", "p99", "max"].map { try #require(latency[$0]) }
    #expect(ranks == ranks.sorted() && ranks[0] > 0)
  }

  @Test("bench reports how often requests to several origins reused a connection", arguments: [1, 3])
  func reuse(loops: Int) async throws {
    let port = try Peers.nginx.ports.plain
    let urls = ["127.0.0.1", "127.0.0.1", "localhost"].map { "http://\($0):\(port)/files/1k" }
    func run(_ flags: String...) async throws -> (opened: Int, reuse: Double) {
      let result = try await Lastro.run(
        ["bench"] + urls + ["--requests", "99", "--concurrency", "1", "--loops", "\(loops)", "--seed", "7"] + flags)
      #expect(result.status == 0, "\(result.errors)")
      let json = try result.json()
      #expect(json["ok"] as? Int == 99)
      #expect(json["origins"] as? Int == 2)
      return (try #require(json["opened"] as? Int), try #require(json["reuse"] as? Double))
    }
    let kept = try await run()
    #expect(kept.opened == 2 && kept.reuse == 1)
    // The only idle connection can be reused only for the origin of the previous request.
    let changing = try await run("--idle-connections", "1", "--zipf", "0.5")
    // With several loops, a connection may be reused before the limit closes it.
    #expect(changing.opened > (loops == 1 ? 10 : 1))
    #expect(abs(changing.reuse - (1 - Double(changing.opened - 2) / Double(100 - 2))) < 1e-9)
  }

  @Test("Failures are shown by their count and the exit status")
  func benchFailures() async throws {
    let result = try await Lastro.run(["bench", nginx("/status/500"), "--requests", "5", "--concurrency", "2"])
    #expect(result.status == 1)
    #expect(try result.json()["ok"] as? Int == 0)
  }
}
