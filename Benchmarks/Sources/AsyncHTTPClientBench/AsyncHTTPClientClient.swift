// SPDX-License-Identifier: Apache-2.0

import AsyncHTTPClient
import BenchSupport
import FoundationEssentials
import NIOCore
import NIOFoundationEssentialsCompat
import NIOHTTP1

/// A client that uses the async API of AsyncHTTPClient, like the README and examples of that library.
@main
struct AsyncHTTPClientClient: BenchClient {
  static let name = "asynchttpclient"

  private let client: HTTPClient
  private let arguments: Arguments
  private let httpVersion: HTTPVersion

  init(_ arguments: Arguments) throws {
    try arguments.refuse("pins", "interceptors", "waiting", "loops", "dialer", "proxy")
    let configuration = try HTTPClient.Configuration.bench(arguments)
    // The shared event loops, one for each core, as the documentation recommends.
    client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    self.arguments = arguments
    httpVersion = try arguments.isHTTP2 ? .http2 : .http1_1
  }

  func exchange(_ kind: Scenario, url: String) throws -> Exchange {
    switch kind {
    case .fetch, .idle, .cancel: return fetching(HTTPClientRequest(url: url))
    case .handshakes:
      // With this field, the server and the client close the connection after the response.
      var request = HTTPClientRequest(url: url)
      request.headers.add(name: "Connection", value: "close")
      return fetching(request)
    case .download: return downloading(url)
    case .upload: return try uploading(url)
    case .json: return decoding(url)
    }
  }

  private func fetching(_ request: HTTPClientRequest) -> Exchange {
    { [self] in
      let response = try await execute(request)
      let body = try await response.body.collect(upTo: Self.maximumBodyBytes)
      return Answer(status: Int(response.status.code), bytes: body.readableBytes)
    }
  }

  private func downloading(_ url: String) -> Exchange {
    let request = HTTPClientRequest(url: url)
    return { [self] in
      let sink = try Sink(file: arguments["file"])
      let response = try await execute(request)
      for try await chunk in response.body { try chunk.withUnsafeReadableBytes { try sink.write($0) } }
      return Answer(status: Int(response.status.code), bytes: sink.bytes)
    }
  }

  private func uploading(_ url: String) throws -> Exchange {
    guard let size = try arguments.number("size") else { throw BenchFailure.failed("upload takes size=") }
    try arguments.refuse("file")
    let chunks = Chunks(size: size) { ByteBuffer(repeating: 0, count: $0) }
    var request = HTTPClientRequest(url: url)
    request.method = .POST
    request.body = .stream(chunks, length: .known(Int64(size)))
    return { [self, request] in
      let response = try await execute(request)
      _ = try await response.body.collect(upTo: Self.maximumBodyBytes)
      return Answer(status: Int(response.status.code), bytes: size)
    }
  }

  private func decoding(_ url: String) -> Exchange {
    let request = HTTPClientRequest(url: url)
    // The decoder is created once, as in Lastro. It decodes directly from the buffer.
    let decoder = JSONDecoder()
    return { [self] in
      let response = try await execute(request)
      let body = try await response.body.collect(upTo: Self.maximumBodyBytes)
      let people = try decoder.decode([Person].self, from: body)
      guard !people.isEmpty else { throw BenchFailure.failed("the document is empty") }
      return Answer(status: Int(response.status.code), bytes: body.readableBytes)
    }
  }

  /// Executes a request. The API requires a deadline; one minute is also Lastro's default.
  private func execute(_ request: HTTPClientRequest) async throws -> HTTPClientResponse {
    let response = try await client.execute(request, timeout: .seconds(60))
    guard response.version == httpVersion else {
      throw BenchFailure.failed("\(response.version) in place of \(httpVersion)")
    }
    return response
  }

  private static let maximumBodyBytes = 16 << 20

  static func isCancellation(_ error: any Error) -> Bool {
    error is CancellationError || (error as? HTTPClientError) == .cancelled
  }

  func shutDown() async throws { try await client.shutdown() }
}
