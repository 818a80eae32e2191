// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro

// sample: archive
extension HTTPResource where Model == ResponseBody, APIError == GitHubError {
  static func archive(of repository: String) -> Self {
    .get("https://api.github.com/repos/\(repository)/archive")
  }
}
// end

private func download(github: any HTTPNetworkStack) async throws {
  // sample: download
  let archive = try await github.stream(.archive(of: "apple/swift"))
  var received = 0
  for try await chunk in archive.value {
    received += chunk.count
  }
  print(received, "bytes;", archive.value.finalFacts?.timings.total ?? .zero)
  // end
}

// sample: bounded
func bounded(github: any HTTPNetworkStack) async throws -> Data {
  let body = try await github.stream(.archive(of: "apple/swift")).value
  return try await body.collect(upTo: 1 << 20)
}
// end

private func bodies() throws -> [RequestBody] {
  // sample: upload
  let file = try RequestBody.file(path: "/etc/hostname", contentType: "text/plain")
  let (chunks, writer) = AsyncStream.makeStream(of: Data.self)
  let live = RequestBody.stream(chunks, contentType: "application/x-ndjson")
  writer.yield(Data("{}\n".utf8))
  writer.finish()
  // end
  return [file, live]
}

private func part(of path: String) async throws -> ResourceRequest {
  // sample: slice
  let digest = try await MessageDigest(ofFile: path, offset: 4, length: 6)
  let part = try ResourceRequest(
    method: .put, url: "https://api.github.com/echo", headers: ["Content-Digest": "sha-256=:\(digest.base64):"],
    body: .file(path: path, offset: 4, length: 6))
  // end
  return part
}

// sample: priority
func backup(github: any HTTPNetworkStack) async throws -> ResponseBody {
  var archive = HTTPResource.archive(of: "apple/swift")
  archive.options.priority = RequestPriority(urgency: 7)  // 0 is the most urgent, 3 the default
  let body = try await github.stream(archive).value
  try body.setPriority(RequestPriority(urgency: 5))
  return body
}
// end

private func trailers() throws -> ResourceRequest {
  // sample: trailers
  let (parts, source) = AsyncStream.makeStream(of: Data.self)
  source.yield(Data("{}\n".utf8))
  source.finish()
  var options = RequestOptions()
  options.onInterimResponse = { print("soon, after", $0.status.code) }
  let summed = try ResourceRequest(
    method: .post, url: "https://api.github.com/echo", headers: ["Trailer": "X-Checksum"],
    body: .stream(parts, trailers: { ["X-Checksum": "sum"] }), options: options)
  // end
  return summed
}

private func progress(github: any HTTPNetworkStack) async throws -> Int64 {
  // sample: progress
  let progress = TransferProgressReporter()
  var archive = HTTPResource.text("https://api.github.com/repos/apple/swift/archive?bytes=1000000")
  archive.decoding = ModelDecoding { bytes, _ in "\(bytes.count) bytes" }
  archive.options.progress = progress
  async let fetched = github.fetch(archive)
  for await step in progress.updates {
    print("\(step.bytesReceived) of \(step.totalBytesToReceive ?? 0)")
  }
  print(try await fetched.value)
  // end
  return progress.current.bytesReceived
}

extension Page {
  static let streaming = Page("Streaming") { stage in
    let github = try stage.github()
    try await download(github: github)
    stage.check("a stream is read to its end", stage.requests() == ["GET /repos/apple/swift/archive"])
    let bytes = try await bounded(github: github)
    stage.check("within the limit it is collected", bytes.count == 65_536)
    let body = try await github.stream(.archive(of: "apple/swift")).value
    do throws(TransportError) {
      _ = try await body.collect(upTo: 1_000)
      stage.check("a body over the limit is refused", false)
    } catch {
      stage.check("a body over the limit is refused", error.code == .bodyTooLarge)
    }
    stage.check("progress comes to its end", try await progress(github: github) == 1_000_000)
    let bodies = try bodies()
    stage.check("a file knows its length and may be sent again", bodies[0].length != nil && bodies[0].isReplayable)
    stage.check("a stream does neither", bodies[1].length == nil && !bodies[1].isReplayable)
    _ = try? await github.fetch(.send(.post, "https://api.github.com/echo", body: bodies[1]))
    stage.check("what was written is what came", stage.server.requests.last?.text == "{}\n")
    let file = FileManager.default.temporaryDirectory.appending(path: "lastro-page-\(UInt64.random(in: .min ... .max))")
    try Data("0123456789".utf8).write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    _ = try? await github.fetch(.raw(try await part(of: file.path)))
    stage.check("a slice came", stage.server.requests.last?.text == "456789")
    stage.check("its digest came", stage.server.requests.last?.headers["Content-Digest"]?.count == 54)
    _ = try await backup(github: github)
    stage.check("the priority came", stage.server.requests.last?.headers["Priority"] == "u=7")
    _ = try? await github.fetch(.raw(try trailers()))
    stage.check("a field came behind the body", stage.server.requests.last?.trailers.fields.map(\.value) == ["sum"])
  }
}
