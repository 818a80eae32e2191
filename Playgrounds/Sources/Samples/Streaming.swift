// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro

func download(github: any HTTPNetworkStack) async throws {
  // sample: download
  let archive = try await github.stream(.user("octocat"))
  var received = 0
  for try await chunk in archive.value {
    received += chunk.count
  }
  print(received, "bytes;", archive.value.finalFacts?.timings.total ?? .zero)
  // end
}

// sample: bounded
func bounded(github: any HTTPNetworkStack) async throws -> Data {
  let body = try await github.stream(.user("octocat")).value
  return try await body.collect(upTo: 1 << 20)
}
// end

func uploads() throws -> [RequestBody] {
  // sample: upload
  let file = try RequestBody.file(path: "/etc/hostname", contentType: "text/plain")
  let (chunks, writer) = AsyncStream.makeStream(of: Data.self)
  let live = RequestBody.stream(chunks, contentType: "application/x-ndjson")
  writer.yield(Data("{}\n".utf8))
  writer.finish()
  // end
  return [file, live]
}
