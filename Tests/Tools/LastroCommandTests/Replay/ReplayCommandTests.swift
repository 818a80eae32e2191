// SPDX-License-Identifier: Apache-2.0

import Foundation
import LastroTesting
import PeerSupport
import TestSupport
import Testing

@Suite("lastro replay", .timeLimit(.minutes(15)))
struct ReplayCommandTests {
  /// Records a fetch that is retried once, and returns the path of its trace.
  private func record(in directory: PeerDirectory) async throws -> (path: String, errors: String) {
    let requests = EventRecorder<String>()
    let server = try LoopbackServer.http { request in
      requests.record(request.path) == 0 ? LoopbackResponse(status: 503) : .text("fine")
    }
    let fetched = try await Lastro.run(["fetch", "-v", "--record", directory.path, "--retry", "2", server.baseURL])
    #expect(fetched.text == "fine", "\(fetched.errors)")
    let names = try FileManager.default.contentsOfDirectory(atPath: directory.path)
    let name = try #require(names.first { $0.hasSuffix(".lastro") }, "\(names)")
    return ("\(directory.path)/\(name)", fetched.errors)
  }

  @Test("A recorded fetch is replayed with the ledger that it printed")
  func replays() async throws {
    let directory = try PeerDirectory()
    let (path, errors) = try await record(in: directory)
    let replayed = try await Lastro.run(["replay", path])
    #expect(replayed.status == 0 && replayed.errors.isEmpty, "\(replayed.errors)")
    #expect(replayed.lines.count >= 4)
    for line in replayed.lines { #expect(errors.contains("* \(line)"), "\(errors)") }
    let object = try await Lastro.run(["replay", path, "--json"]).json()
    #expect((object["attempts"] as? [Any])?.count == 2)
  }

  @Test("--if, --without and --step show other courses and each event")
  func variations() async throws {
    let directory = try PeerDirectory()
    let (path, _) = try await record(in: directory)
    let alone = try await Lastro.run(["replay", path, "--if", "retry=none"])
    #expect(alone.status == 0 && alone.text.contains("1 attempt in"), "\(alone.text) \(alone.errors)")
    let short = try await Lastro.run(["replay", path, "--if", "total=200ms"])
    #expect(short.status == 0 && short.text.contains("of 200 ms"), "\(short.text)")
    #expect(try await Lastro.run(["replay", path, "--without", "breaker"]).status == 0)
    let steps = try await Lastro.run(["replay", path, "--step"], input: "\n\n\n")
    #expect(steps.errors.contains("attempt 2 starts") && steps.errors.contains("received"), "\(steps.errors)")
    for words in [["--if", "total=soon"], ["--if", "retry=2"], ["--if", "speed=2"], ["--without", "server"]] {
      #expect(try await Lastro.run(["replay", path] + words).status == 64)
    }
  }

  @Test("Files that are not traces, and traces of other versions, are refused")
  func refused() async throws {
    let directory = try PeerDirectory()
    #expect(try await Lastro.run(["replay", "\(directory.path)/none"]).status == 1)
    let other = try directory.write("{\"lastro_trace\":2,\"lastro\":\"9.9.9\"}\n", to: "other")
    let refused = try await Lastro.run(["replay", other])
    #expect(refused.status == 1 && refused.errors.contains("written by Lastro 9.9.9"), "\(refused.errors)")
  }
}
